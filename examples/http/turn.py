"""Sends a turn, prints its text as the model writes it, and approves each call that it waits for.

    python3 turn.py <conversation> <agent> <input> [idempotency key]

It needs Python 3.8 and its standard library. TURNFOLD_URL is the address of the server, TURNFOLD_KEY its key, if it has
keys. The last line of the output is the turn as JSON.
"""

import http.client
import json
import os
import sys
import time
import urllib.error
import urllib.request
import uuid

URL = os.environ.get("TURNFOLD_URL", "http://127.0.0.1:8080")
KEY = os.environ.get("TURNFOLD_KEY")
DEADLINE_S = 30
AWAY = {429, 502, 503, 504}


class Problem(Exception):
    """A request that the server refused, with its problem details."""

    def __init__(self, status, problem):
        super().__init__(problem.get("detail", f"status {status}"))
        self.status = status
        self.problem = problem


def open_request(method, path, body=None, headers=None, timeout=60):
    """Sends a request, and repeats it while the server is away. Each write below can be repeated safely."""
    data = None if body is None else json.dumps(body).encode()
    headers = {**(headers or {}), **({"Authorization": f"Bearer {KEY}"} if KEY else {})}
    if data is not None:
        headers["Content-Type"] = "application/json"
    until = time.monotonic() + DEADLINE_S
    while True:
        request = urllib.request.Request(URL + path, data=data, headers=headers, method=method)
        try:
            return urllib.request.urlopen(request, timeout=timeout)
        except urllib.error.HTTPError as error:
            if error.code not in AWAY or time.monotonic() > until:
                raise Problem(error.code, read_problem(error)) from error
        except (OSError, http.client.HTTPException):
            if time.monotonic() > until:
                raise
        time.sleep(0.5)


def read_problem(error):
    try:
        return json.loads(error.read())
    except ValueError:
        return {}


def call(method, path, body=None, headers=None):
    with open_request(method, path, body, headers) as answer:
        return json.load(answer), answer.headers


def enqueue(conversation, agent, text, key):
    """Stores the turn. With the same key and body, a repeated request is the same turn. Returns the turn's path."""
    body = {"agent": agent, "input": text}
    _, headers = call("POST", f"/v1/conversations/{conversation}/turns", body, {"Idempotency-Key": key})
    return headers["Location"]


def stream(turn):
    """Yields the parts of a turn. After a cut, it continues behind the last part."""
    last = None
    while True:
        headers = {"Last-Event-ID": last} if last else {}
        try:
            with open_request("GET", f"{turn}/events", headers=headers) as answer:
                for event_id, data in read_events(answer):
                    part = json.loads(data)
                    last = event_id or last
                    yield part
                    if part["type"] == "end":
                        return
        except (OSError, http.client.HTTPException):
            pass
        time.sleep(0.5)


def read_events(lines):
    """Yields id and data of each server-sent event. An event that a cut left incomplete is dropped."""
    event_id, data = None, []
    for raw in lines:
        line = raw.decode().rstrip("\r\n")
        if line.startswith("id:"):
            event_id = line[3:].strip()
        elif line.startswith("data:"):
            data.append(line[5:].strip())
        elif line == "":
            if data:
                yield event_id, "\n".join(data)
            event_id, data = None, []


def approve(turn, waiting):
    """Approves the calls that the turn waits for. The first answer to a call counts."""
    answers = {call["id"]: {"approved": True} for call in waiting["calls"]}
    call("POST", f"{turn}/answers", {"answers": answers})


def wait_for_result(turn):
    """Asks until the turn is settled. One request waits for at most 30 s."""
    while True:
        view, _ = call("GET", f"{turn}/result?waitMs=30000")
        if view["state"] in ("completed", "failed", "canceled"):
            return view


def main():
    conversation, agent, text = sys.argv[1:4]
    key = sys.argv[4] if len(sys.argv) > 4 else str(uuid.uuid4())
    turn = enqueue(conversation, agent, text, key)
    for part in stream(turn):
        if part["type"] == "text":
            print(part["piece"], end="", flush=True)
        elif part["type"] == "wait" and part["waiting"]["for"] == "approval":
            approve(turn, part["waiting"])
    print()
    print(json.dumps(wait_for_result(turn)))


if __name__ == "__main__":
    main()
