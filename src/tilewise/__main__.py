"""The command's way in, as `tilewise` and as `python -m tilewise`: behaves as a shell expects before anything else loads."""

import signal
import sys

STOPPED = 130
"""What a shell reports of a command that Ctrl-C ended: 128 + SIGINT."""


def main() -> None:
    """Run the command line; Ctrl-C ends it without a traceback even while it still loads."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # whoever reads the output may stop early, as head does
    try:
        from tilewise.cli.main import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(STOPPED)


if __name__ == "__main__":
    main()
