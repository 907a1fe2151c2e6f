"""Published results beside ours: `regret-envs reproduce NAME`.

A reproduction is a function `run(options: Options) -> Report` in a module of its own (or several,
told apart by their names), entered in `REPRODUCTIONS` of `command`, or in the `ROOM` of a side room.
It computes the numbers, draws its figure and writes its curves below `options.out`, and returns
`Check` rows; printing and `checks.csv` are done for it. `checks` says what a row holds.
"""
