//! The measured binaries, and the first event of each.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Result, root};

/// A function, its most frequent event (a file in `events/`), and a text to replace in that event with its replacement.
type Function = (&'static str, &'static str, Option<(&'static str, &'static str)>);

/// The functions.
const FUNCTIONS: [Function; 9] = [
    ("authorize", "authorize.json", None),
    ("consume", "poll.json", Some((r#"{\"limit\":10}"#, r#"{\"limit\":100}"#))),
    ("fan-out", "fan-out.json", None),
    ("follow", "put-following.json", None),
    ("live", "get-latest.json", Some(("/events", "/live"))),
    (
        "query-latest",
        "get-latest.json",
        Some((r#""rawQueryString": """#, r#""rawQueryString": "limit=100""#)),
    ),
    ("records", "get-topic.json", None),
    ("report", "report-schedule.json", None),
    ("write-event", "post-event.json", None),
];

/// The settings that cargo-lambda, which `sam build` runs, adds to the profile. Functions abort on panic, so that they
/// need no code for unwinding. The target is the least capable processor that Lambda has.
const PANIC: (&str, &str) = ("CARGO_PROFILE_RELEASE_PANIC", "abort");
const RUSTFLAGS: (&str, &str) = (
    "RUSTFLAGS",
    if cfg!(target_arch = "aarch64") { "-C target-cpu=neoverse-n1" } else { "-C target-cpu=haswell" },
);

/// The authorizer once more, with issuers: it reads them at its start, and asks none of them for a session's token.
const WITH_ISSUERS: (&str, &str, &str) = ("authorize, 3 issuers", "authorize", "authorize.json");

/// A variable for [`WITH_ISSUERS`].
const ISSUERS: (&str, &str) = (
    "ISSUERS",
    r#"[{"issuer":"https://id.example.org/","audience":"lately","scopes":{"claim":"scope","map":{"post":["read","write"]}}},
        {"issuer":"https://sso.example.org/realms/example","audience":"lately","user":"preferred_username"},
        {"issuer":"https://token.actions.githubusercontent.com","audience":"lately","user":"repository_owner"}]"#,
);

/// The smallest functions: one without the SDK, and one with it.
const HELLOS: [&str; 2] = ["hello", "hello-dynamodb"];

/// A measured binary.
#[derive(Clone, Debug)]
pub(super) struct Binary {
    pub(super) name: &'static str,
    pub(super) path: PathBuf,
    /// The first event. The smallest functions have none.
    pub(super) event: Option<String>,
    /// Variables of its environment beside those of every function.
    pub(super) variables: &'static [(&'static str, &'static str)],
}

impl Binary {
    /// Builds the binaries as `sam build` does. The functions are built together. Each of the smallest functions is
    /// built by itself, so that it has no feature that only the others need.
    ///
    /// # Errors
    /// If the build fails.
    pub(super) fn build() -> Result<Vec<Self>> {
        let functions = FUNCTIONS.iter().flat_map(|(name, ..)| ["--bin", name]);
        let hello = vec!["--package", "lately-hello"];
        let with_dynamodb = [&hello[..], &["--bin", HELLOS[1], "--features", "dynamodb"]].concat();
        for arguments in [functions.collect(), hello, with_dynamodb] {
            let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
            cargo.current_dir(root()).args(["build", "--release", "--locked"]).args(arguments);
            cargo.envs([PANIC, RUSTFLAGS]);
            if !cargo.status()?.success() {
                return Err("the build of the functions failed".into());
            }
        }
        let target =
            std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
        Self::in_folder(&target.join("release"))
    }

    /// The binaries in a folder, the smallest functions first.
    ///
    /// # Errors
    /// If a binary is missing.
    pub(super) fn in_folder(folder: &Path) -> Result<Vec<Self>> {
        let of = |name, file: &str, event, variables| {
            let path = folder.join(file);
            if !path.is_file() {
                return Err(format!("{} is missing", path.display()).into());
            }
            Ok(Self { name, path: path.canonicalize()?, event, variables })
        };
        let payload = |file: &str| std::fs::read_to_string(root().join("events").join(file));
        let functions = FUNCTIONS.iter().map(|(name, file, edit)| {
            let mut event = payload(file)?;
            if let Some((from, to)) = edit {
                if !event.contains(from) {
                    return Err(format!("{file} does not contain {from}").into());
                }
                event = event.replace(from, to);
            }
            of(name, name, Some(event), &[][..])
        });
        let (name, file, event) = WITH_ISSUERS;
        let with_issuers = of(name, file, Some(payload(event)?), &[ISSUERS][..]);
        let hellos = HELLOS.map(|name| of(name, name, None, &[][..]));
        hellos.into_iter().chain(functions).chain([with_issuers]).collect()
    }

    /// The size of the binary.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(super) fn bytes(&self) -> Result<u64> {
        Ok(std::fs::metadata(&self.path)?.len())
    }
}
