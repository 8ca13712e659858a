//! The binaries that are measured, and the event that each is given first.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Result, root};

/// A function, its most frequent event (a file in `events/`), and what is another in it: by what it is replaced.
type Function = (&'static str, &'static str, Option<(&'static str, &'static str)>);

/// The functions.
const FUNCTIONS: [Function; 8] = [
    ("authorize", "authorize.json", None),
    ("consume", "poll.json", Some((r#"{\"limit\":10}"#, r#"{\"limit\":100}"#))),
    ("fan-out", "fan-out.json", None),
    ("follow", "put-following.json", None),
    (
        "query-latest",
        "get-latest.json",
        Some((r#""rawQueryString": """#, r#""rawQueryString": "limit=100""#)),
    ),
    ("records", "get-topic.json", None),
    ("report", "report-schedule.json", None),
    ("write-event", "post-event.json", None),
];

/// What cargo-lambda, which `sam build` runs, sets beside the profile: panics end a function, which so does without all that
/// unwinding needs; and the processors that Lambda has, at the least.
const PANIC: (&str, &str) = ("CARGO_PROFILE_RELEASE_PANIC", "abort");
const RUSTFLAGS: (&str, &str) = (
    "RUSTFLAGS",
    if cfg!(target_arch = "aarch64") { "-C target-cpu=neoverse-n1" } else { "-C target-cpu=haswell" },
);

/// The functions that do nothing: the least, and the least with the SDK.
const HELLOS: [&str; 2] = ["hello", "hello-dynamodb"];

/// A binary.
#[derive(Clone, Debug)]
pub(super) struct Binary {
    pub(super) name: &'static str,
    pub(super) path: PathBuf,
    /// Its first event; those that do nothing have none.
    pub(super) event: Option<String>,
}

impl Binary {
    /// Builds them as `sam build` does: the functions by name, of the whole workspace; and what does nothing each by
    /// itself, so that it has nothing that the others need.
    ///
    /// # Errors
    /// If they cannot be built.
    pub(super) fn build() -> Result<Vec<Self>> {
        let functions = FUNCTIONS.iter().flat_map(|(name, ..)| ["--bin", name]);
        let hello = vec!["--package", "lately-hello"];
        let with_dynamodb = [&hello[..], &["--bin", HELLOS[1], "--features", "dynamodb"]].concat();
        for arguments in [functions.collect(), hello, with_dynamodb] {
            let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
            cargo.current_dir(root()).args(["build", "--release", "--locked"]).args(arguments);
            cargo.envs([PANIC, RUSTFLAGS]);
            if !cargo.status()?.success() {
                return Err("the functions do not build".into());
            }
        }
        let target =
            std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
        Self::in_folder(&target.join("release"))
    }

    /// Those of a folder, first those that do nothing.
    ///
    /// # Errors
    /// If one is missing.
    pub(super) fn in_folder(folder: &Path) -> Result<Vec<Self>> {
        let of = |name, event| {
            let path = folder.join(name);
            if !path.is_file() {
                return Err(format!("{} is missing", path.display()).into());
            }
            Ok(Self { name, path: path.canonicalize()?, event })
        };
        let functions = FUNCTIONS.iter().map(|(name, file, edit)| {
            let mut event = std::fs::read_to_string(root().join("events").join(file))?;
            if let Some((from, to)) = edit {
                if !event.contains(from) {
                    return Err(format!("{file} has no {from}").into());
                }
                event = event.replace(from, to);
            }
            of(name, Some(event))
        });
        HELLOS.map(|name| of(name, None)).into_iter().chain(functions).collect()
    }

    /// Its size.
    ///
    /// # Errors
    /// If it is gone.
    pub(super) fn bytes(&self) -> Result<u64> {
        Ok(std::fs::metadata(&self.path)?.len())
    }
}
