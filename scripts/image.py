"""Makes a container image without a container engine: a tar file for `docker load`, which is an OCI layout too.

The image has one layer: the program, the libraries that it loads, root certificates, a user, and nothing else.
"""

import gzip
import hashlib
import io
import json
import pathlib
import re
import subprocess
import tarfile

USER = 65532
CERTIFICATES = pathlib.Path("/etc/ssl/certs/ca-certificates.crt")
# The licence of the libraries.
GLIBC = pathlib.Path("/usr/share/doc/libc6/copyright")
MEDIA = "application/vnd.oci.image"


def libraries(program):
    """The files that the dynamic linker loads for a program, as it finds them. A static program has none."""
    done = subprocess.run(["ldd", program], capture_output=True, text=True)
    return re.findall(r"(/\S+) \(0x", done.stdout)


def layer(program, licences):
    """The root's files, as the bytes of a tar file. They do not depend on the time or the place of the build."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:

        def add(name, content=None, mode=0o644, owner=0):
            entry = tarfile.TarInfo(name.lstrip("/"))
            entry.mode, entry.uid, entry.gid = mode, owner, owner
            if content is None:
                entry.type = tarfile.DIRTYPE
                tar.addfile(entry)
            else:
                entry.size = len(content)
                tar.addfile(entry, io.BytesIO(content))

        add("/tmp", mode=0o1777)
        # A volume that is mounted here belongs to the user.
        add("/data", mode=0o755, owner=USER)
        add("/etc/passwd", f"lately:x:{USER}:{USER}::/data:\n".encode())
        add("/etc/nsswitch.conf", b"hosts: files dns\n")
        add(str(CERTIFICATES), CERTIFICATES.read_bytes())
        needed = libraries(program)
        for library in needed:
            add(library, pathlib.Path(library).read_bytes(), mode=0o755)
        if needed and GLIBC.exists():
            add(str(GLIBC), GLIBC.read_bytes())
        for licence in licences:
            add(f"/usr/share/doc/lately/{licence.name}", licence.read_bytes())
        add("/lately", pathlib.Path(program).read_bytes(), mode=0o755)
    return out.getvalue()


def write(path, program, licences, version, architecture):
    """Writes the image `lately` to a file."""
    blobs = {}

    def blob(kind, content):
        digest = hashlib.sha256(content).hexdigest()
        blobs[f"blobs/sha256/{digest}"] = content
        return {"mediaType": kind, "digest": f"sha256:{digest}", "size": len(content)}

    def text(value):
        return json.dumps(value, indent=1).encode()

    root = layer(program, licences)
    packed = blob(f"{MEDIA}.layer.v1.tar+gzip", gzip.compress(root, compresslevel=6, mtime=0))
    settings = {
        "architecture": architecture,
        "os": "linux",
        "config": {
            "User": f"{USER}:{USER}",
            "WorkingDir": "/data",
            # A published port leads to the container's own address.
            "Env": ["LATELY_HOST=private", "LATELY_DYNAMODB_HOST=private"],
            "Entrypoint": ["/lately"],
            "ExposedPorts": {"3000/tcp": {}, "8000/tcp": {}},
            "Labels": {
                "org.opencontainers.image.title": "lately",
                "org.opencontainers.image.version": version,
                "org.opencontainers.image.licenses": "Apache-2.0 OR MIT",
            },
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(root).hexdigest()}"]},
    }
    config = blob(f"{MEDIA}.config.v1+json", text(settings))
    described = {
        "schemaVersion": 2,
        "mediaType": f"{MEDIA}.manifest.v1+json",
        "config": config,
        "layers": [packed],
    }
    name = {
        "io.containerd.image.name": f"docker.io/library/lately:{version}",
        "org.opencontainers.image.ref.name": version,
    }
    manifest = blob(f"{MEDIA}.manifest.v1+json", text(described)) | {"annotations": name}
    file = {it["digest"]: f"blobs/{it['digest'].replace(':', '/')}" for it in (config, packed)}
    files = blobs | {
        "oci-layout": text({"imageLayoutVersion": "1.0.0"}),
        "index.json": text({"schemaVersion": 2, "manifests": [manifest]}),
        # `docker load` of an engine that does not know OCI layouts reads this.
        "manifest.json": text(
            [
                {
                    "Config": file[config["digest"]],
                    "RepoTags": [f"lately:{version}", "lately:latest"],
                    "Layers": [file[packed["digest"]]],
                }
            ]
        ),
    }
    with tarfile.open(path, "w") as tar:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))


def unpack(path, folder):
    """Unpacks the image's root into a folder, and returns the image's configuration."""
    with tarfile.open(path) as tar:
        [image] = json.load(tar.extractfile("manifest.json"))
        config = json.load(tar.extractfile(image["Config"]))["config"]
        for name in image["Layers"]:
            with tarfile.open(fileobj=tar.extractfile(name)) as root:
                root.extractall(folder)
    return config
