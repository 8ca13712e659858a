//! Compresses the OpenAPI document, without the space between its tokens: uncompressed, it would be a thirtieth of the
//! function's binary.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::DeflateEncoder;

const SOURCE: &str = "src/openapi.json";

fn main() -> std::io::Result<()> {
    println!("cargo::rerun-if-changed={SOURCE}");
    let folder = std::env::var_os("OUT_DIR").expect("cargo sets it");
    let compressed = File::create(Path::new(&folder).join("openapi.json.deflate"))?;
    let mut encoder = DeflateEncoder::new(compressed, Compression::best());
    encoder.write_all(compact(&std::fs::read_to_string(SOURCE)?).as_bytes())?;
    encoder.finish().map(drop)
}

/// JSON without the space between its tokens.
fn compact(json: &str) -> String {
    let (mut in_string, mut escaped) = (false, false);
    json.chars()
        .filter(|char| {
            in_string ^= *char == '"' && !escaped;
            escaped = *char == '\\' && !escaped;
            in_string || !char.is_ascii_whitespace()
        })
        .collect()
}
