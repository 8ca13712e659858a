"""Deploys the built stack to MiniStack and runs `lately check` there. scripts/deploy starts and describes this program.

MiniStack differs from AWS in three points. This program, and no other file, works around them:

- MiniStack does not import an HTTP API's document. So the program creates the document's routes, integrations and
  authorizer one by one.
- MiniStack has no alarms on expressions of metrics. So such an alarm is deployed on its first metric.
- MiniStack collects a function's whole response before it sends the first byte, also at a function URL with RESPONSE_STREAM.
  So the check gets no `--live-url` and skips the live streams. Instead one stream is read whole, at the function URL.
"""

import contextlib
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import time
import urllib.request

import boto3
from ministack import ministack
from samtranslator.translator.transform import transform
from samtranslator.yaml_helper import yaml_parse

BIN = pathlib.Path("target/tools")
BUILT = pathlib.Path(".aws-sam/build/template.yaml")
# In the same folder, because the paths of the functions are relative to the template.
DEPLOYED = BUILT.with_name("ministack.json")
# A copy of MiniStack's own log.
LOG = pathlib.Path("target/ministack.log")
STACK, REGION = "lately", "eu-west-1"
TOPIC = "billing"
MACHINE = "arm64" if platform.machine() in ("aarch64", "arm64") else "x86_64"
FIRST = {
    "Architecture": MACHINE,
    "ReportTopic": TOPIC,
    "ReportSum": "amount",
    "ReportSchedule": "rate(1 minute)",
    "LogLevel": "info",
}
# The upgrade changes the functions' environment and the schedule's input, and adds a function with its URL.
UPGRADE = FIRST | {"LogLevel": "warn", "FanOutLimit": "500", "ReportGroupBy": "type", "LiveStreams": "Enabled", "LiveSeconds": "10"}


def deployable():
    """Writes the built template in a form that MiniStack accepts."""
    template = yaml_parse(BUILT.read_text())
    for resource in template["Resources"].values():
        properties = resource.get("Properties", {})
        if resource["Type"] == "AWS::CloudWatch::Alarm" and "Metrics" in properties:
            measured = next(it["MetricStat"] for it in properties.pop("Metrics") if "MetricStat" in it)
            properties |= measured["Metric"] | {"Statistic": measured["Stat"], "Period": measured["Period"]}
    DEPLOYED.write_text(json.dumps(template))


def document():
    """The API's document that SAM makes from the template."""

    class NoManagedPolicies:
        def load(self):
            return {}

    template = yaml_parse(BUILT.read_text())
    for resource in template["Resources"].values():
        if resource["Type"] == "AWS::Serverless::Function":
            resource["Properties"]["CodeUri"] = "s3://bucket/key"
    return transform(template, {}, NoManagedPolicies())["Resources"]["Api"]["Properties"]["Body"]


class Cloud:
    """An AWS at a URL, with clients for its services."""

    def __init__(self, url):
        self.url = url
        # Credentials and configuration of this machine must not be used.
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")} | {
            "AWS_ENDPOINT_URL": url,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "AWS_EC2_METADATA_DISABLED": "true",
            "SAM_CLI_TELEMETRY": "0",
        }

    def client(self, name):
        keys = {"aws_access_key_id": "test", "aws_secret_access_key": "test", "region_name": REGION}
        return boto3.client(name, endpoint_url=self.url, **keys)

    def run(self, *command, **options):
        return subprocess.run([str(it) for it in command], env=self.environment, check=True, text=True, **options)

    def sam(self, *arguments):
        """Runs SAM. Its output, a line for each resource, is printed only if it fails."""
        command = (BIN / "sam/bin/sam", *arguments, "--stack-name", STACK, "--region", REGION)
        try:
            self.run(*command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        except subprocess.CalledProcessError as failed:
            print(failed.stdout)
            raise

    def deploy(self, parameters):
        # SAM ends an unquoted value at a space.
        given = [f'{name}="{value}"' for name, value in parameters.items()]
        self.sam(
            *("deploy", "--template-file", DEPLOYED, "--config-file", pathlib.Path("samconfig.toml").resolve()),
            *("--no-confirm-changeset", "--no-progressbar", "--parameter-overrides", *given),
        )

    def physical(self):
        stack = self.client("cloudformation").describe_stack_resources(StackName=STACK)
        return {it["LogicalResourceId"]: it["PhysicalResourceId"] for it in stack["StackResources"]}

    def outputs(self):
        [stack] = self.client("cloudformation").describe_stacks(StackName=STACK)["Stacks"]
        return {it["OutputKey"]: it["OutputValue"] for it in stack["Outputs"]}

    def make_routes(self, document, cache_seconds):
        """Creates the routes and the authorizer that API Gateway would create from the API's document."""
        gateway, physical = self.client("apigatewayv2"), self.physical()
        api, account = physical["Api"], self.client("sts").get_caller_identity()["Account"]

        def arn(uri):
            function = re.search(r"\w+Function\b", json.dumps(uri))[0]
            return f"arn:aws:lambda:{REGION}:{account}:function:{physical[function]}"

        [scheme] = document["components"]["securitySchemes"].values()
        asked = scheme["x-amazon-apigateway-authorizer"]
        authorizer = gateway.create_authorizer(
            ApiId=api,
            AuthorizerType="REQUEST",
            Name="Sessions",
            IdentitySource=asked["identitySource"],
            AuthorizerUri=f"arn:aws:apigateway:{REGION}:lambda:path/2015-03-31/functions/"
            f"{arn(asked['authorizerUri'])}/invocations",
            AuthorizerPayloadFormatVersion=asked["authorizerPayloadFormatVersion"],
            EnableSimpleResponses=asked["enableSimpleResponses"],
            AuthorizerResultTtlInSeconds=cache_seconds,
        )["AuthorizerId"]
        integrations = {}
        for path, operations in document["paths"].items():
            for method, operation in operations.items():
                integration = operation["x-amazon-apigateway-integration"]
                function = arn(integration["uri"])
                if function not in integrations:
                    integrations[function] = gateway.create_integration(
                        ApiId=api,
                        IntegrationType="AWS_PROXY",
                        IntegrationUri=function,
                        PayloadFormatVersion=integration["payloadFormatVersion"],
                    )["IntegrationId"]
                secured = {"AuthorizationType": "CUSTOM", "AuthorizerId": authorizer}
                is_secured = operation["security"] != [{"NONE": []}]
                gateway.create_route(
                    ApiId=api,
                    RouteKey=f"{method.upper()} {path}",
                    Target=f"integrations/{integrations[function]}",
                    **(secured if is_secured else {}),
                )
        return api

    def print_logs(self):
        """Prints the functions' own log lines, without the platform's lines about each invocation."""
        logs = self.client("logs")
        for group in logs.describe_log_groups()["logGroups"]:
            events = logs.filter_log_events(logGroupName=group["logGroupName"], limit=10_000)["events"]
            lines = [event["message"].rstrip() for event in events]
            own = [line for line in lines if line and line.split()[0] not in ("START", "END", "REPORT")]
            for line in own[-100:]:
                print(f"{group['logGroupName']}: {line}")


@contextlib.contextmanager
def started():
    """An empty MiniStack. Its log is kept."""
    with ministack(REGION, "lately-deploy-") as (url, log):
        try:
            yield Cloud(url)
        finally:
            shutil.copy(log, LOG)


def main(lately, *options):
    """Runs and times all steps."""
    keep = options == ("--keep",)
    if options and not keep:
        sys.exit(f"{' '.join(options)}: the only option is --keep")
    took = {}

    @contextlib.contextmanager
    def step(name):
        print(f"\n-- {name}", flush=True)
        begun = time.monotonic()
        yield
        took[name] = time.monotonic() - begun

    with started() as cloud:
        try:
            with step("deploy"):
                deployable()
                cloud.deploy(FIRST)
                api = cloud.make_routes(document(), cache_seconds=60)
                table = cloud.outputs()["TableName"]
                assert "LiveUrl" not in cloud.outputs(), "live streams are deployed, but not enabled"
                made = cloud.run(
                    *(lately, "token", "create", "--table", table, "--scope", "admin", "--ttl", "1d"),
                    stdout=subprocess.PIPE,
                )
                token = made.stdout.split()[-1]
            url = f"{cloud.url}/_aws/execute-api/{api}/$default"
            check = [lately, "check", url, "--token", token, "--report", TOPIC]
            with step("check"):
                cloud.run(*check)
            with step("upgrade"):
                cloud.deploy(UPGRADE)
                assert cloud.outputs()["TableName"] == table, "the upgrade has replaced the table"
                live = re.match(r"https://(\w+)\.lambda-url\.", cloud.outputs()["LiveUrl"])[1]
            with step("check after the upgrade"):
                cloud.run(*check)
            with step("a live stream at the function URL"):
                read_live(url, f"{cloud.url}/_aws/lambda-url/{live}", token)
            if keep:
                stay(cloud, url, token, table)
            else:
                with step("delete"):
                    cloud.sam("delete", "--no-prompts")
        except Exception as failed:
            cloud.print_logs()
            print(f"the log of MiniStack is {LOG}")
            if isinstance(failed, subprocess.CalledProcessError):
                sys.exit(f"failed: {pathlib.Path(failed.cmd[0]).name} {failed.cmd[1]}")
            raise
    told = ", ".join(f"{name} {seconds:.0f} s" for name, seconds in took.items())
    print(f"\ndeployed, upgraded and deleted the stack; the check passed twice: {told}")


def read_live(url, live_url, token):
    """Follows a subject with a colon until the stream's end. The stream has the event that was written before."""

    def call(target, body=None):
        request = urllib.request.Request(target, body, {"Authorization": f"Bearer {token}"})
        with urllib.request.urlopen(request, timeout=60) as response:
            return response.read().decode()

    subject = f"/subjects/repo%3Aocto%3A{TOPIC}"
    before = json.loads(call(f"{url}{subject}/events"))["newer"]
    event = {"type": "note", "actor": "ada", "subject": f"repo:octo:{TOPIC}"}
    written = json.loads(call(f"{url}/topics/{TOPIC}/events", json.dumps(event).encode()))["id"]
    stream = call(f"{live_url}{subject}/live?cursor={before}")
    assert stream.startswith("retry: ") and written in stream, f"the stream lacks the event {written}: {stream}"
    print(f"ok   {written} was in the stream of {subject}")


def stay(cloud, url, token, table):
    names = ("AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION")
    print("\nThe stack runs until Ctrl-C. To call it:\n")
    print("export " + " ".join(f"{name}={cloud.environment[name]}" for name in names))
    print(f"curl -s '{url}/topics' -H 'Authorization: Bearer {token}'")
    print(f"aws dynamodb scan --table-name {table} --max-items 3", flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        while True:
            time.sleep(3600)


main(*sys.argv[1:])
