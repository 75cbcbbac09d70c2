"""Runs the samples in Python that the file `operations` names, and prints their statuses. What one changed is reset."""

import contextlib
import os
import sys
import traceback

import requests

with open("operations") as file:
    operations = [line.split() for line in file]
for operation, method in operations:
    sample = {}
    try:
        with open(f"{operation}.py") as file, contextlib.redirect_stdout(sys.stderr):
            exec(file.read(), sample)
        print(operation, sample["response"].status_code)
    except Exception:
        print(operation, traceback.format_exc().replace("\n", " "))
    if method != "GET":
        requests.post(
            os.environ["BASE_URL"] + "/sandbox/reset", headers={"Authorization": "Bearer " + os.environ["TOKEN"]}
        )
