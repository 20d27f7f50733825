"""Runs the Python examples of a page of the documentation, word by word, and prints what they read as JSON.

    examples.py PAGE URL

The examples run one after another, as in a notebook. The result is {"rows": [rows of df after each example]}.
"""

import contextlib
import json
import re
import sys


def main():
    page, base = sys.argv[1:]
    with open(page, encoding="utf-8") as f:
        examples = re.findall(r"^```python\n(.*?)^```$", f.read(), re.DOTALL | re.MULTILINE)
    names, rows = {}, []
    with contextlib.redirect_stdout(sys.stderr):
        for example in examples:
            exec(compile(example.replace("http://127.0.0.1:17665", base), page, "exec"), names)
            rows.append(len(names["df"]))
    json.dump({"rows": rows}, sys.stdout)


main()
