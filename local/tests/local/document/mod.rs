//! The files that follow from the routes: the OpenAPI document, and the template's routes. `scripts/document` writes them;
//! a test fails if they are out of date.

mod openapi;
mod schemas;
mod story;

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use lately_kit::access::Rule;
use lately_kit::document::Operation;
use lately_kit::route::Routes;

use crate::document::story::Story;
use crate::support::Api;

/// A file of the repository.
fn file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

/// Compares a file with the text that follows from the routes, or writes it.
fn check(path: &str, text: &str) {
    let path = file(path);
    if std::env::var_os("LATELY_WRITE").is_some() {
        fs::write(&path, text).unwrap();
    }
    let is_fresh = fs::read_to_string(&path).unwrap() == text;
    assert!(is_fresh, "{} is out of date: run scripts/document", path.display());
}

/// The headings, in the document's order.
const TAGS: [&str; 8] =
    ["Topics", "Events", "Feeds", "Records", "Sessions", "Erasures", "Consumers", "Other"];

#[tokio::test]
async fn the_document_follows_from_the_routes() {
    let mut operations: Vec<Operation> = Api::empty().await.system.listed().description;
    operations.sort_by_key(|it| TAGS.iter().position(|tag| *tag == it.text.tag));
    let story = Story::of(&operations).await;
    check("functions/records/src/openapi.json", &openapi::document(&operations, &story));
}

/// A function's list of routes.
type ListRoutes = fn() -> Routes<Vec<Operation>>;

#[test]
fn the_templates_routes_follow_from_the_functions() {
    let functions: [(&str, ListRoutes); 5] = [
        ("write-event", lately_write_event::routes),
        ("query-latest", lately_query_latest::routes),
        ("follow", lately_follow::routes),
        ("records", lately_records::routes),
        ("consume", lately_consume::routes),
    ];
    let template = fs::read_to_string(file("template.yaml")).unwrap();
    let fresh = functions.into_iter().fold(template, |template, (function, routes)| {
        let begin = format!("# <routes> of functions/{function}, written by scripts/document\n");
        let (before, rest) = template.split_once(&begin).expect(&begin);
        let (_, after) = rest.split_once("        # </routes>").expect(&begin);
        format!("{before}{begin}{}        # </routes>{after}", events(&routes().description))
    });
    check("template.yaml", &fresh);
}

/// Routes as events of a function, in SAM's words.
fn events(operations: &[Operation]) -> String {
    operations.iter().fold(String::new(), |mut events, it| {
        let name = it.name();
        let (first, rest) = name.split_at(1);
        let auth = if it.rule == Rule::Open { ", Auth: { Authorizer: NONE }" } else { "" };
        let (method, path) = (&it.method, it.path);
        writeln!(events, "        {}{rest}:\n          Type: HttpApi", first.to_uppercase()).unwrap();
        let properties = format!("ApiId: !Ref Api, Method: {method}, Path: \"{path}\"{auth}");
        writeln!(events, "          Properties: {{ {properties} }}").unwrap();
        events
    })
}
