//! The measured binaries, and the first event of each.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Result, root};

/// A function, its most frequent event (a file in `events/`), and a text to replace in that event with its replacement.
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

/// The settings that cargo-lambda, which `sam build` runs, adds to the profile. Functions abort on panic, so that they
/// need no code for unwinding. The target is the least capable processor that Lambda has.
const PANIC: (&str, &str) = ("CARGO_PROFILE_RELEASE_PANIC", "abort");
const RUSTFLAGS: (&str, &str) = (
    "RUSTFLAGS",
    if cfg!(target_arch = "aarch64") { "-C target-cpu=neoverse-n1" } else { "-C target-cpu=haswell" },
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
                    return Err(format!("{file} does not contain {from}").into());
                }
                event = event.replace(from, to);
            }
            of(name, Some(event))
        });
        HELLOS.map(|name| of(name, None)).into_iter().chain(functions).collect()
    }

    /// The size of the binary.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(super) fn bytes(&self) -> Result<u64> {
        Ok(std::fs::metadata(&self.path)?.len())
    }
}
