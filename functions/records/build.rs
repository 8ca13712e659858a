//! Compresses the OpenAPI document, without its indentation: uncompressed, it would be a thirtieth of the function's
//! binary.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;

const SOURCE: &str = "src/openapi.json";

fn main() -> std::io::Result<()> {
    println!("cargo::rerun-if-changed={SOURCE}");
    let folder = std::env::var_os("OUT_DIR").expect("cargo sets it");
    let compressed = File::create(Path::new(&folder).join("openapi.json.gz"))?;
    let mut encoder = GzEncoder::new(compressed, Compression::best());
    for line in std::fs::read_to_string(SOURCE)?.lines() {
        encoder.write_all(line.trim_start().as_bytes())?;
    }
    encoder.finish().map(drop)
}
