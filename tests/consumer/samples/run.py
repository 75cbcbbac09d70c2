"""Runs the samples in Python that the file `operations` names, and prints their statuses.

If a sample fails after others have changed the sandbox, resets the sandbox and runs the sample again: faster than a reset
after each, as in `run.sh`.
"""

import contextlib
import os
import sys
import traceback

import requests


def run(operation):
    sample = {}
    try:
        with open(f"{operation}.py") as file, contextlib.redirect_stdout(sys.stderr):
            exec(file.read(), sample)
        status = sample["response"].status_code
        return f"{operation} {status}", status < 300
    except Exception:
        return f"{operation} " + traceback.format_exc().replace("\n", " "), False


with open("operations") as file:
    operations = [line.split() for line in file]
is_changed = False
for operation, method in operations:
    line, is_success = run(operation)
    if is_changed and not is_success:
        requests.post(
            os.environ["BASE_URL"] + "/sandbox/reset", headers={"Authorization": "Bearer " + os.environ["TOKEN"]}
        )
        is_changed = False
        line, _ = run(operation)
    is_changed = is_changed or method != "GET"
    print(line)
