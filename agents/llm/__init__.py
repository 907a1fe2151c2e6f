"""Language models as agents, through any OpenAI-compatible server (extra `llm`).

`answers` reads what a model says, `prompts` renders what it is told, `cache` keeps every answer,
`client` asks, `credentials` decides who may connect and which key goes where, `transcripts` writes down
the conversation, and `agent` plays.
"""
