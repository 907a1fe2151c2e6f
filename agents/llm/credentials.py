"""Who may connect, and which key goes where.

Three rules. A language model connects where somebody asked for it: a spec that was typed on the command
line or made in Python does; one that a suite file names does only with `--allow-llm`; reading results never
connects. A key goes only where its owner sent it: the default variable to the client's default host alone,
any other host gets a key only from the variable that was typed with it as `api_key_env`. And a key is
read from the environment when a request is made, and is kept nowhere else.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Literal
from urllib.parse import urlsplit

DEFAULT_BASE_URL = "https://api.openai.com/v1"
DEFAULT_KEY_VARIABLE = "OPENAI_API_KEY"

Trust = Literal["typed", "allowed", "offline"]
"""What an agent that is being made may do: all that its spec says; connect, but send no key other than the
default one to the default host; or answer from the cache alone."""

_trust: ContextVar[Trust] = ContextVar("trust", default="typed")


class CredentialsError(ValueError):
    """A key that is not there, or that must not be sent; says what to do."""


@contextlib.contextmanager
def trusting(trust: Trust) -> Iterator[None]:
    """Language models made within have this much trust."""
    token = _trust.set(trust)
    try:
        yield
    finally:
        _trust.reset(token)


def current_trust() -> Trust:
    """The trust in what is made now."""
    return _trust.get()


def check_base_url(base_url: str) -> None:
    """See that an address is one, and holds no secret.

    Raises:
        ValueError: if it is not http(s)://HOST[:PORT][/PATH]; never shows what may be a secret in it.
    """
    try:
        parts = urlsplit(base_url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise ValueError("base_url is not an address such as http://127.0.0.1:8000/v1") from None
    if parts.username is not None or parts.password is not None or "@" in parts.netloc:
        raise ValueError(
            "base_url must not hold a user name or password: specs are written into result files. Put the "
            "key into an environment variable and give its name as api_key_env"
        )
    if parts.scheme not in ("http", "https") or not host or parts.query or parts.fragment:
        raise ValueError(
            "base_url must be http(s)://HOST[:PORT][/PATH], without query and fragment, such as "
            "http://127.0.0.1:8000/v1"
        )


def check_key_variable(name: str) -> None:
    """See that `api_key_env` is the name of a variable and not a key.

    Raises:
        ValueError: if it is not in capitals, digits and underscores; does not show it.
    """
    if not re.fullmatch(r"[A-Z_][A-Z0-9_]*", name):
        raise ValueError(
            "api_key_env is the NAME of the environment variable that holds the key (capitals, digits and "
            "underscores), never the key itself"
        )


def key_for(base_url: str, api_key_env: str | None, trust: Trust) -> str | None:
    """The key to send to a server, or None for none.

    Args:
        base_url: the server's address.
        api_key_env: the variable that the spec names; None: the default one, for the default host alone.
        trust: the trust in the spec.

    Raises:
        CredentialsError: if the key is not there, or a spec that nobody typed asks for one to be sent
            elsewhere; the message never holds a key.
    """
    at_home = _origin(base_url) == _origin(DEFAULT_BASE_URL)
    default = at_home and api_key_env in (None, DEFAULT_KEY_VARIABLE)
    if trust != "typed" and api_key_env is not None and not default:
        raise CredentialsError(
            f"a suite file asks to send the key in {api_key_env} to {base_url}: a key goes where somebody "
            "typed it, so give this spec on the command line"
        )
    variable = api_key_env or (DEFAULT_KEY_VARIABLE if at_home else None)
    if variable is None:
        return None
    key = os.environ.get(variable, "").strip()
    if not key:
        raise CredentialsError(
            f"{base_url} wants a key and {variable} is not set: export {variable}=..., or give "
            "base_url=http://HOST:PORT/v1 for a server of your own"
        )
    return key


def _origin(base_url: str) -> tuple[str, str | None, int]:
    parts = urlsplit(base_url)
    return parts.scheme, parts.hostname, parts.port or {"https": 443}.get(parts.scheme, 80)
