"""Compares the built functions' answers with events/expected.json. scripts/emulator starts this program."""

import contextlib
import json
import os
import pathlib
import platform
import re
import sys
import tempfile
import urllib.request

import boto3
import samcli
from processes import answers, free_ports, running, until
from samtranslator.yaml_helper import yaml_parse

EVENTS = pathlib.Path("events")
BUILT = pathlib.Path(".aws-sam/build")
KIND = "arm64" if platform.machine() in ("aarch64", "arm64") else "x86_64"
EMULATOR = pathlib.Path(samcli.__file__).parent / f"local/rapid/aws-lambda-rie-{KIND}"
# This table is restored before each payload. It is not the program's own, whose stream drives the program's fan-out.
TABLE = "payloads"


class Table:
    """The table of the functions: a copy of the program's table, with the given items."""

    def __init__(self, url, items):
        keys = {"aws_access_key_id": "x", "aws_secret_access_key": "x", "region_name": "eu-west-1"}
        self.client = boto3.client("dynamodb", endpoint_url=url, **keys)
        declared = self.client.describe_table(TableName="lately")["Table"]
        indexes = [
            {name: index[name] for name in ("IndexName", "KeySchema", "Projection")}
            for index in declared["GlobalSecondaryIndexes"]
        ]
        self.client.create_table(
            TableName=TABLE,
            BillingMode="PAY_PER_REQUEST",
            KeySchema=declared["KeySchema"],
            AttributeDefinitions=declared["AttributeDefinitions"],
            GlobalSecondaryIndexes=indexes,
        )
        self.given = self.items("lately") | {(it["pk"]["S"], it["sk"]["S"]): it for it in items}

    def items(self, table=TABLE):
        pages = self.client.get_paginator("scan").paginate(TableName=table, ConsistentRead=True)
        return {(it["pk"]["S"], it["sk"]["S"]): it for page in pages for it in page["Items"]}

    def restore(self):
        there = self.items()
        for key in there.keys() - self.given.keys():
            self.client.delete_item(TableName=TABLE, Key={"pk": {"S": key[0]}, "sk": {"S": key[1]}})
        for key, item in self.given.items():
            if there.get(key) != item:
                self.client.put_item(TableName=TABLE, Item=item)


class Functions:
    """The template's functions: the function of a payload, and its environment."""

    def __init__(self, template):
        resources = template["Resources"]
        self.template = template
        self.functions = {
            name: it["Properties"] for name, it in resources.items() if it["Type"] == "AWS::Serverless::Function"
        }
        self.routes, self.prefixes = {}, {}
        [self.streaming] = [name for name, it in self.functions.items() if "FunctionUrlConfig" in it]
        for function, properties in self.functions.items():
            for event in properties.get("Events", {}).values():
                of = event["Properties"]
                if event["Type"] == "HttpApi":
                    self.routes[f"{of['Method']} {of['Path']}"] = function
                elif event["Type"] == "DynamoDB":
                    for it in of["FilterCriteria"]["Filters"]:
                        keys = json.loads(it["Pattern"])["dynamodb"]["Keys"]
                        self.prefixes[keys["pk"]["S"][0]["prefix"]] = function
                elif event["Type"] == "ScheduleV2":
                    self.scheduled = function
        [authorizer] = resources["Api"]["Properties"]["Auth"]["Authorizers"].values()
        self.authorizer = authorizer["FunctionArn"]["Fn::GetAtt"][0]

    def of(self, payload):
        if "identitySource" in payload:
            return self.authorizer
        if payload.get("routeKey") == "$default":
            return self.streaming
        if "routeKey" in payload:
            return self.routes[payload["routeKey"]]
        if "Records" in payload:
            key = payload["Records"][0]["dynamodb"]["Keys"]["pk"]["S"]
            return next(function for prefix, function in self.prefixes.items() if key.startswith(prefix))
        return self.scheduled

    def environment(self, function, given):
        declared = dict(self.template["Globals"]["Function"]["Environment"]["Variables"])
        declared |= self.functions[function].get("Environment", {}).get("Variables", {})
        parameters = {name: it["Default"] for name, it in self.template["Parameters"].items()}
        given |= {
            "PATH": os.environ["PATH"],
            "AWS_LAMBDA_FUNCTION_NAME": function,
            "AWS_LAMBDA_FUNCTION_TIMEOUT": str(self.functions[function].get("Timeout", 15)),
        }
        # A value that refers to another resource must be given.
        plain = {name: it if isinstance(it, str) else parameters.get(it.get("Ref")) for name, it in declared.items()}
        return {name: str(value) for name, value in (plain | given).items() if value is not None}


def holds(answer, expected):
    """True if an answer contains the expected fields; it may contain more."""
    if isinstance(expected, dict):
        return isinstance(answer, dict) and all(
            name in answer and holds(answer[name], value) for name, value in expected.items()
        )
    if isinstance(expected, list):
        return isinstance(answer, list) and len(answer) == len(expected) and all(map(holds, answer, expected))
    return answer == expected


def is_expected(answer, expected):
    if "answer" in expected:
        return holds(answer, expected["answer"])
    code = json.loads(answer["body"]).get("code") if answer.get("statusCode", 500) >= 300 else None
    return (
        (answer.get("statusCode"), code) == (expected["status"], expected.get("code"))
        and holds(answer["headers"], expected.get("headers", {}))
        and all(text in answer["body"] for text in expected.get("holds", []))
    )


def parsed(text):
    """The answer. A streamed answer is a prelude of JSON, eight zero bytes, and the body."""
    prelude, separator, body = text.partition("\0" * 8)
    return json.loads(prelude) | ({"body": body} if separator else {})


def send(url, body, headers=None, method="POST"):
    request = urllib.request.Request(url, body, headers or {}, method=method)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.read().decode()


@contextlib.contextmanager
def program(lately, folder, given):
    """Starts the program and makes the given calls; gives the URL of its DynamoDB."""
    log_path = folder / "lately.log"
    command = [lately, "--port", "0", "--dynamodb-port", "0", "--no-demo", "--report-every", "never"]

    def addresses():
        found = [
            re.search(rf"^  {name} +(http:\S+)", log_path.read_text(), re.MULTILINE) for name in ("API", "DynamoDB")
        ]
        return all(found) and [it[1] for it in found]

    with open(log_path, "w") as log, running(command, log) as process:
        api, dynamodb = until(lately, process, addresses)
        for token, line, body in given["calls"]:
            method, path = line.split()
            send(api + path, json.dumps(body).encode(), {"authorization": f"Bearer {token}"}, method)
        yield dynamodb


@contextlib.contextmanager
def emulated(function, environment, log_path):
    """Starts a built function under the emulator; gives the URL that invokes it."""
    port, runtime_port = free_ports(2)
    command = [
        EMULATOR,
        f"--runtime-interface-emulator-address=127.0.0.1:{port}",
        f"--runtime-api-address=127.0.0.1:{runtime_port}",
        (BUILT / function / "bootstrap").resolve(),
    ]
    with open(log_path, "w") as log, running(command, log, env=environment) as process:
        until(function, process, lambda: answers(port))
        yield f"http://127.0.0.1:{port}/2015-03-31/functions/function/invocations"


def is_answered(url, name, expected):
    """True if a payload is answered as expected; otherwise prints the answer."""
    text = ""
    try:
        text = send(url, (EVENTS / name).read_bytes())
        if is_expected(parsed(text), expected):
            return True
    except (OSError, ValueError, KeyError, AttributeError) as error:
        text = text or repr(error)
    print(f"FAIL {name}: expected {expected}, got {text}")
    return False


def main(lately, *chosen):
    """Sends the chosen payloads, or all; with --list, only prints the function of each payload."""
    expected = json.loads((EVENTS / "expected.json").read_text())
    functions = Functions(yaml_parse(pathlib.Path("template.yaml").read_text()))
    is_list = chosen == ("--list",)
    payloads = {}
    for name in chosen if chosen and not is_list else sorted(expected["answers"]):
        function = functions.of(json.loads((EVENTS / name).read_text()))
        payloads.setdefault(function, []).append(name)
    if is_list:
        print("\n".join(f"{function} {name}" for function, names in payloads.items() for name in names))
        return

    failed = 0
    with tempfile.TemporaryDirectory(prefix="lately-emulator-") as folder:
        folder = pathlib.Path(folder)
        with program(lately, folder, expected["given"]) as dynamodb:
            table = Table(dynamodb, expected["given"]["items"])
            given = {
                "TABLE_NAME": TABLE,
                "OUTPUT": f"{folder}/reports",
                "LIVE_SECONDS": "1",
                "AWS_ENDPOINT_URL": dynamodb,
                "AWS_REGION": "eu-west-1",
                "AWS_ACCESS_KEY_ID": "x",
                "AWS_SECRET_ACCESS_KEY": "x",
            }
            for function, names in payloads.items():
                good = 0
                log_path = folder / f"{function}.log"
                with emulated(function, functions.environment(function, given), log_path) as url:
                    for name in names:
                        table.restore()
                        good += is_answered(url, name, expected["answers"][name])
                print(f"{function}: {good} of {len(names)} payloads as expected")
                if good < len(names):
                    print(log_path.read_text())
                failed += len(names) - good
    sent = sum(map(len, payloads.values()))
    if failed:
        sys.exit(f"{failed} of {sent} payloads are not answered as expected")
    print(f"{sent} payloads to {len(payloads)} functions, all answered as expected")


main(*sys.argv[1:])
