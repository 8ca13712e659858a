//! A template becomes the table it declares.

use lately_engine::template::{Route, Template};
use lately_engine::{Engine, Options, Projection};

use crate::support::{TABLE, definition};

fn template() -> Template {
    Template::parse(include_str!("../data/template.yaml")).unwrap()
}

#[test]
fn the_table_is_read_as_declared() {
    let mut expected = definition();
    expected.indexes[1].projection = Projection::Include(vec!["title".to_owned()]);
    assert_eq!(template().table().unwrap(), expected);
}

#[test]
fn the_routes_are_read_as_declared() {
    let route = |method: &str, path: &str| Route {
        function: "WriteEvent".to_owned(),
        method: method.to_owned(),
        path: path.to_owned(),
    };
    let expected = [route("DELETE", "/topics/{topic}/events/{id}"), route("POST", "/topics/{topic}/events")];
    assert_eq!(template().routes().unwrap(), expected);
}

#[tokio::test]
async fn the_declared_table_is_created_with_indexes_stream_and_ttl() {
    let engine = Engine::memory(&Options::default()).unwrap();
    engine.create_table(&template().table().unwrap(), TABLE).unwrap();
    let client = engine.client();
    let table = client.describe_table().table_name(TABLE).send().await.unwrap();
    let table = table.table.unwrap();
    assert_eq!(table.global_secondary_indexes().len(), 2);
    assert_eq!(table.attribute_definitions().len(), 6);
    assert!(table.latest_stream_arn.is_some());
    let ttl = client.describe_time_to_live().table_name(TABLE).send().await.unwrap();
    let ttl = ttl.time_to_live_description.unwrap();
    assert_eq!(ttl.attribute_name.as_deref(), Some("expires_at"));
}

#[test]
fn a_table_is_not_made_twice() {
    let engine = Engine::memory(&Options::default()).unwrap();
    let definition = template().table().unwrap();
    engine.create_table(&definition, TABLE).unwrap();
    let again = engine.create_table(&definition, TABLE).unwrap_err();
    assert!(again.to_string().contains("ResourceInUseException"), "{again}");
}
