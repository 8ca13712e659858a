//! The files of the page: all are served, they are small, and they load nothing from elsewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::Path;

use crate::console::{Running, header};
use crate::support::request;
use axum::body::Body;
use flate2::Compression;
use flate2::write::GzEncoder;
use tower::ServiceExt;

/// The most bytes of all files together, as they are sent: compressed.
const PAGE_BYTES: usize = 120 * 1024;

/// The files of the page, by name.
fn files() -> BTreeMap<String, Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../console");
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    // Only files belong to the page; the folders hold its tests.
    entries.filter(|path| path.is_file()).map(|path| (name(&path), fs::read(&path).unwrap())).collect()
}

/// The files that the page loads. The script has all modules.
const LOADED: [&str; 3] = ["app.js", "icon.svg", "style.css"];

#[tokio::test]
async fn every_file_of_the_page_is_served_under_a_name_that_never_changes() {
    let running = Running::new().await;
    let files = files();
    let mut page = String::from_utf8(files["index.html"].clone()).unwrap();
    let mut bytes = 0;
    for name in LOADED {
        let served = running.send(None, &format!("GET /console/{name}"), "").await;
        assert_eq!(served.status, 200, "{name}");
        let policy = header(&served.headers, "content-security-policy");
        assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self'; "), "{policy}");
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(header(&served.headers, "x-content-type-options"), "nosniff");
        assert_eq!(header(&served.headers, "referrer-policy"), "no-referrer");
        assert_eq!(header(&served.headers, "cache-control"), "no-cache");
        let kind = match name.rsplit_once('.').unwrap().1 {
            "css" => "text/css; charset=utf-8",
            "js" => "text/javascript; charset=utf-8",
            "svg" => "image/svg+xml",
            other => panic!("{name}: the page has no files of the kind {other}"),
        };
        assert_eq!(header(&served.headers, "content-type"), kind);
        let tag = header(&served.headers, "etag").to_owned();
        let again = request(&format!("GET /console/{name}")).header("if-none-match", &tag);
        let again = running.router.clone().oneshot(again.body(Body::empty()).unwrap()).await.unwrap();
        assert_eq!(again.status(), 304, "{name}");
        let own = format!("/console/{name}?{}", tag.trim_matches('"'));
        let kept = running.send(None, &format!("GET {own}"), "").await;
        assert_eq!(header(&kept.headers, "cache-control"), "public, max-age=31536000, immutable");
        page = page.replace(&format!("\"/console/{name}\""), &format!("\"{own}\""));
        bytes += compressed(served.text.as_bytes());
        if name == "app.js" {
            has_all_modules(&served.text, &files);
        } else {
            assert!(served.text.as_bytes() == files[name], "{name} has changed since the program was built");
        }
    }
    let served = running.send(None, "GET /", "").await;
    assert_eq!(served.is_ok(200).text, page, "the page names its files with their tags");
    bytes += compressed(page.as_bytes());
    assert!(bytes <= PAGE_BYTES, "{bytes} bytes");
    for name in ["nothing.js", "api.js", "..%2FCargo.toml", "tests", ""] {
        assert_eq!(running.send(None, &format!("GET /console/{name}"), "").await.status, 404, "{name}");
    }
}

/// Fails unless the script has every module of the folder, unchanged but for its imports and exports.
fn has_all_modules(script: &str, files: &BTreeMap<String, Vec<u8>>) {
    let lines: BTreeSet<&str> = script.lines().collect();
    for (name, bytes) in files.iter().filter(|(name, _)| name.ends_with(".js")) {
        let begins = format!("const ${} = (() => {{", name.trim_end_matches(".js"));
        assert_eq!(script.matches(&begins).count(), 1, "{name}");
        let text = str::from_utf8(bytes).unwrap();
        // The client's module has no imports, and exports a list at its end.
        let (body, skipped) = text.split_once("\nexport {").map_or((text, 1), |(body, _)| (body, 0));
        let body = body.split("\nexport ").skip(skipped).flat_map(|it| it.lines().skip(1));
        for line in body {
            assert!(lines.contains(line), "{name} has changed since the program was built: {line}");
        }
    }
}

fn compressed(file: &[u8]) -> usize {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(file).unwrap();
    encoder.finish().unwrap().len()
}

#[test]
fn the_page_has_no_inline_code_and_no_external_links() {
    let files = files();
    let page = String::from_utf8(files["index.html"].clone()).unwrap().to_lowercase();
    let tags: Vec<&str> = page.split('<').skip(1).map(|tag| tag.split('>').next().unwrap()).collect();
    for tag in tags.iter().filter(|tag| !tag.starts_with("!--")) {
        let name = tag.split([' ', '\n']).next().unwrap();
        assert_ne!(name, "style", "{tag}");
        assert!(name != "script" || tag.contains("src=\"/console/"), "{tag}");
        // Every second piece between quotes is a value.
        let names = tag.split('"').step_by(2).flat_map(str::split_whitespace).skip(1);
        for attribute in names.map(|name| name.trim_end_matches('=')) {
            assert!(attribute != "style" && !attribute.starts_with("on"), "{tag}");
        }
        for link in ["src=\"", "href=\""].iter().filter_map(|name| tag.split_once(name)).map(|(_, link)| link)
        {
            let link = link.split('"').next().unwrap();
            let own = link.starts_with('#')
                || link == "/"
                || link.strip_prefix("/console/").is_some_and(|it| files.contains_key(it));
            assert!(own, "{tag}");
        }
    }
    assert!(page.contains("<script"), "it has a script");
}
