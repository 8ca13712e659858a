"""The test of scripts/jwt: an issuer, the program that trusts it, and tokens that PyJWT makes."""

import json
import sys
import time
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from subprocess import PIPE, Popen
from threading import Thread

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

# A new key, and the class that writes it as a JWK, for each algorithm.
ALGORITHMS = {
    "RS256": (lambda: rsa.generate_private_key(65537, 2048), RSAAlgorithm),
    "PS256": (lambda: rsa.generate_private_key(65537, 3072), RSAAlgorithm),
    "ES256": (lambda: ec.generate_private_key(ec.SECP256R1()), ECAlgorithm),
    "EdDSA": (ed25519.Ed25519PrivateKey.generate, OKPAlgorithm),
}


def published():
    """The keys by algorithm, and the set that the issuer publishes."""
    keys = {algorithm: generate() for algorithm, (generate, _) in ALGORITHMS.items()}
    jwks = [
        {**json.loads(ALGORITHMS[algorithm][1].to_jwk(key.public_key())), "kid": algorithm, "use": "sig"}
        for algorithm, key in keys.items()
    ]
    return keys, jwks


def serve(jwks):
    """Starts the issuer in a thread, and returns its name."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            url = f"http://{self.headers['host']}"
            documents = {
                "/.well-known/openid-configuration": {"issuer": url, "jwks_uri": f"{url}/keys"},
                "/keys": {"keys": jwks},
            }
            body = json.dumps(documents.get(self.path, {})).encode()
            self.send_response(200 if self.path in documents else 404)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


def ask(api, issuer, keys):
    def answered(token):
        request = urllib.request.Request(f"{api}/sessions/self", headers={"authorization": f"Bearer {token}"})
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    def token(algorithm, kid=None, headers=None, **changes):
        now = int(time.time())
        claims = {"iss": issuer, "aud": "lately", "sub": "ada", "scope": "openid post", "iat": now, "exp": now + 600}
        claims = {name: value for name, value in {**claims, **changes}.items() if value is not None}
        return jwt.encode(claims, keys[algorithm], algorithm, {"kid": kid or algorithm, **(headers or {})})

    for algorithm in ALGORITHMS:
        status, caller = answered(token(algorithm))
        assert status == 200, (algorithm, status, caller)
        expected = {"user": "ada", "scopes": ["read", "write"], "issuer": issuer}
        assert {name: caller[name] for name in expected} == expected, caller

    now = int(time.time())
    own = ed25519.Ed25519PrivateKey.generate()
    claims = jwt.decode(token("EdDSA"), options={"verify_signature": False})
    refused = {
        "none": jwt.encode(claims, None, "none", {"kid": "RS256"}),
        "HS256": jwt.encode(claims, "a secret of at least 32 bytes, which nobody knows", "HS256", {"kid": "RS256"}),
        "another key": jwt.encode(claims, own, "EdDSA", {"kid": "EdDSA"}),
        "another key's id": token("ES256", kid="EdDSA"),
        "an unknown key": token("ES256", kid="../../keys"),
        "its own key": jwt.encode(claims, own, "EdDSA", {"kid": "EdDSA", "jku": "http://169.254.169.254/"}),
        "an extension": token("RS256", headers={"crit": ["b64"]}),
        "expired": token("RS256", exp=now - 120),
        "not yet valid": token("RS256", nbf=now + 120),
        "no end": token("RS256", exp=None),
        "another audience": token("RS256", aud="other"),
        "no audience": token("RS256", aud=None),
        "another issuer": token("RS256", iss="https://id.example.org"),
        "no user": token("RS256", sub=None),
        "no name": token("RS256", sub="auth0|1"),
        "huge": token("RS256", padding="x" * 9000),
        "cut off": token("RS256")[:-4],
    }
    for why, it in refused.items():
        status, problem = answered(it)
        assert (status, problem["code"]) == (403, "invalid-token"), (why, status, problem)
    print(f"{len(ALGORITHMS)} algorithms of PyJWT {jwt.__version__} accepted, {len(refused)} tokens refused")


def main(program):
    keys, jwks = published()
    issuer = serve(jwks)
    scopes = {"claim": "scope", "map": {"post": ["read", "write"]}}
    issuers = json.dumps([{"issuer": issuer, "audience": "lately", "scopes": scopes}])
    arguments = ["--port", "0", "--dynamodb-port", "0", "--no-demo", "--issuers", issuers]
    with Popen([program, *arguments], stdout=PIPE, text=True) as lately:
        try:
            lines = (line.split() for line in lately.stdout)
            ask(next(words[1] for words in lines if words[:1] == ["API"]), issuer, keys)
        finally:
            lately.terminate()


main(sys.argv[1])
