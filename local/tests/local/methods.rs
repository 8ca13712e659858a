//! HEAD, and the methods that a path does not have.

use std::collections::{BTreeMap, BTreeSet};

use crate::support::{Answer, Api, event, request};

/// The methods of each path, as the header `Allow` lists them.
fn methods(api: &Api) -> BTreeMap<&'static str, BTreeSet<String>> {
    let mut methods = BTreeMap::<_, BTreeSet<_>>::new();
    for (method, path, _) in api.system.routes().declared() {
        let of_path = methods.entry(path).or_default();
        of_path.insert(method.to_string());
        if method == "GET" {
            of_path.insert("HEAD".to_owned());
        }
    }
    methods
}

/// A path of a template.
pub(crate) fn filled(template: &str) -> String {
    let part = |part: &str| match part {
        "{topic}" => "posts".to_owned(),
        "{id}" => "019a9fb1-7d40-7000-8000-5f3c9e1d2a77".to_owned(),
        "{source}" => "actor:ada".to_owned(),
        "{number}" => "1".to_owned(),
        part => part.trim_matches(['{', '}']).to_owned(),
    };
    template.split('/').map(part).collect::<Vec<_>>().join("/")
}

#[tokio::test]
async fn a_method_that_a_path_lacks_is_refused_with_those_that_it_has() {
    let api = Api::with_posts().await;
    for (path, methods) in methods(&api) {
        for method in ["GET", "PUT", "POST", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"] {
            if methods.contains(method) {
                continue;
            }
            let answer = api.call("dev", &format!("{method} {}", filled(path)), "{}").await;
            let allowed = answer.is(405, "method-not-allowed").header("allow").unwrap();
            let allowed: BTreeSet<_> = allowed.split(',').map(str::to_owned).collect();
            assert_eq!(allowed, methods, "{method} {path}");
        }
    }
}

#[tokio::test]
async fn head_answers_like_get_without_the_body() {
    let api = Api::with_posts().await;
    api.call("ada", "POST /topics/posts/events", event().to_string()).await.is_ok(201);
    let mut statuses = BTreeSet::new();
    for (path, _) in methods(&api).into_iter().filter(|(_, methods)| methods.contains("GET")) {
        for token in ["dev", "eve"] {
            let [get, head] = ["GET", "HEAD"].map(|method| format!("{method} {}", filled(path)));
            let (get, head) = (api.call(token, &get, "").await, api.call(token, &head, "").await);
            assert_eq!((head.status, head.text.as_str()), (get.status, ""), "{path}");
            // The price may differ, because the first request filled a cache; only a body that is sent is compressed.
            let names = |answer: &Answer| {
                let names = answer.headers.keys().map(|name| name.to_string()).filter(|name| name != "vary");
                names.collect::<BTreeSet<_>>()
            };
            assert_eq!(names(&head), names(&get), "{path}");
            assert_eq!(head.header("content-type"), get.header("content-type"), "{path}");
            statuses.insert(head.status);
        }
    }
    assert_eq!(statuses, BTreeSet::from([200, 403, 404]));
    let head = api.send(request("HEAD /topics"), "").await;
    assert_eq!(head.status, 401);
}
