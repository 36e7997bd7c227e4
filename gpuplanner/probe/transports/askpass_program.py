"""What OpenSSH runs to ask a question: hands it to gpuplanner over a socket and prints the answer. Nothing else."""

import json
import os
import socket
import sys


def main() -> int:
    """Exit code 1 tells the client that there is no answer."""
    question = {
        "token": os.environ["GPUPLANNER_ASK_TOKEN"],
        "text": " ".join(sys.argv[1:]),
        "hint": os.environ.get("SSH_ASKPASS_PROMPT", ""),
    }
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(os.environ["GPUPLANNER_ASK"])
        line.sendall(json.dumps(question).encode("utf-8") + b"\n")
        with line.makefile("rb") as answers:
            told = answers.readline()
    answer = json.loads(told)["answer"] if told else None
    if answer is None:
        return 1
    sys.stdout.write(f"{answer}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
