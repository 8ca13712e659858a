//! How a function is linked for release on Linux. The build script of every function; what it is for: docs/cold-start.md.

#![expect(clippy::print_stdout, reason = "this is how a build script speaks to cargo")]

use std::env;

/// For GNU's linker and LLVM's, which is also cargo-lambda's.
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../link.ld");

fn main() {
    println!("cargo:rerun-if-changed={SCRIPT}");
    let is = |variable, value| env::var(variable).is_ok_and(|set| set == value);
    if is("PROFILE", "release") && is("CARGO_CFG_TARGET_OS", "linux") {
        println!("cargo:rustc-link-arg-bins=-no-pie");
        println!("cargo:rustc-link-arg-bins=-Wl,-T,{SCRIPT}");
    }
}
