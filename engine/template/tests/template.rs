//! Tests that read the table, routes, mappings, schedules, environments, timeouts and policies of templates.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;
use std::time::Duration;

use lately_engine::{
    Attribute, Engine, IndexDefinition, KeyNames, Options, Projection, StreamView, TableDefinition,
};
use lately_pump::{Filter, Mapping, StartingPosition};
use lately_template::{Route, Schedule, Statement, Template, TemplateError};

const TABLE: &str = "lately";

fn template() -> Template {
    Template::parse(include_str!("data/template.yaml")).unwrap()
}

#[test]
fn the_declared_table_is_read() {
    let names = ["pk", "sk", "gsi1pk", "gsi1sk", "gsi2pk", "gsi2sk"];
    let key = |prefix: &str| KeyNames { partition: format!("{prefix}pk"), sort: Some(format!("{prefix}sk")) };
    let index =
        |name: &str, projection| IndexDefinition { name: name.to_owned(), key: key(name), projection };
    let expected = TableDefinition {
        attributes: names.map(|name| Attribute { name: name.to_owned(), kind: "S".to_owned() }).to_vec(),
        key: key(""),
        indexes: vec![
            index("gsi1", Projection::All),
            index("gsi2", Projection::Include(vec!["title".to_owned()])),
        ],
        ttl_attribute: Some("expires_at".to_owned()),
        stream: Some(StreamView::NewAndOldImages),
    };
    assert_eq!(template().table().unwrap(), expected);
}

#[test]
fn the_declared_routes_are_read() {
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
fn a_table_cannot_be_created_twice() {
    let engine = Engine::memory(&Options::default()).unwrap();
    let definition = template().table().unwrap();
    engine.create_table(&definition, TABLE).unwrap();
    let again = engine.create_table(&definition, TABLE).unwrap_err();
    assert!(again.to_string().contains("ResourceInUseException"), "{again}");
}

const MAPPINGS: &str = include_str!("data/mappings.yaml");

fn mappings() -> Template {
    Template::parse(MAPPINGS).unwrap()
}

#[test]
fn mappings_have_declared_properties_or_lambdas_defaults() {
    let filter = [r#"{"eventName": ["INSERT"]}"#, r#"{"userIdentity": {"type": [{"exists": false}]}}"#];
    let declared = Mapping {
        function: "FanOut".to_owned(),
        event: "Stream".to_owned(),
        starting_position: StartingPosition::TrimHorizon,
        batch_size: 250,
        window: Duration::from_secs(1),
        lanes: 10,
        maximum_retries: Some(5),
        maximum_age: Some(Duration::from_secs(3_600)),
        bisect: true,
        report_failures: true,
        filter: Filter::parse(filter).unwrap(),
        on_failure: true,
    };
    let absent = Mapping {
        function: "Plain".to_owned(),
        event: "Stream".to_owned(),
        starting_position: StartingPosition::Latest,
        batch_size: 100,
        window: Duration::ZERO,
        lanes: 1,
        maximum_retries: None,
        maximum_age: None,
        bisect: false,
        report_failures: false,
        filter: Filter::default(),
        on_failure: false,
    };
    assert_eq!(mappings().mappings().unwrap(), [declared, absent]);
}

/// The error of a template in which the mapping of `Plain` has these properties.
fn refused(properties: &str) -> TemplateError {
    let plain = "Properties: { Stream: !GetAtt Table.StreamArn, StartingPosition: LATEST }";
    let text = MAPPINGS.replace(plain, &format!("Properties: {{ {properties} }}"));
    assert_ne!(text, MAPPINGS);
    Template::parse(&text).unwrap().mappings().unwrap_err()
}

#[test]
fn a_mapping_that_is_invalid_in_lambda_is_refused() {
    let stream = "Stream: !GetAtt Table.StreamArn";
    for properties in [
        "Stream: !GetAtt Other.StreamArn, StartingPosition: LATEST",
        "Stream: !Ref Table, StartingPosition: LATEST",
        &format!("{stream}, StartingPosition: AT_TIMESTAMP"),
        &format!("{stream}, StartingPosition: LATEST, BatchSize: 0"),
        &format!("{stream}, StartingPosition: LATEST, BatchSize: 10001"),
        &format!("{stream}, StartingPosition: LATEST, MaximumBatchingWindowInSeconds: 301"),
        &format!("{stream}, StartingPosition: LATEST, ParallelizationFactor: 11"),
        &format!("{stream}, StartingPosition: LATEST, MaximumRetryAttempts: -2"),
        &format!("{stream}, StartingPosition: LATEST, MaximumRetryAttempts: 10001"),
        &format!("{stream}, StartingPosition: LATEST, MaximumRecordAgeInSeconds: 59"),
        &format!("{stream}, StartingPosition: LATEST, FunctionResponseTypes: [Other]"),
    ] {
        let error = refused(properties);
        assert!(matches!(error, TemplateError::Mapping { .. }), "{properties}: {error}");
        assert!(error.to_string().starts_with("function Plain, event Stream: "), "{error}");
    }
    for properties in [
        stream,
        "StartingPosition: LATEST",
        &format!("{stream}, StartingPosition: LATEST, TumblingWindowInSeconds: 60"),
        &format!("{stream}, StartingPosition: LATEST, BatchSize: !Ref Secret"),
    ] {
        let error = refused(properties);
        assert!(matches!(error, TemplateError::Resource { .. }), "{properties}: {error}");
    }
    let filter = r#"FilterCriteria: {Filters: [{Pattern: '{"a": [{"like": "x"}]}'}]}"#;
    let error = refused(&format!("{stream}, StartingPosition: LATEST, {filter}"));
    assert!(matches!(error, TemplateError::Mapping { .. }), "{error}");
}

#[test]
fn schedules_use_given_parameters_and_defaults() {
    let schedule = |expression: &str, input: &str| Schedule {
        function: "FanOut".to_owned(),
        event: "Nightly".to_owned(),
        expression: expression.to_owned(),
        input: input.to_owned(),
    };
    let input = r#"{"level":"info","size":250,"of":""}"#;
    assert_eq!(mappings().schedules().unwrap(), [schedule("rate(1 minute)", input)]);
    let given = mappings().with("Topic", "billing").unwrap().with("Schedule", "rate(2 hours)").unwrap();
    let input = r#"{"level":"info","size":250,"of":"billing"}"#;
    assert_eq!(given.schedules().unwrap(), [schedule("rate(2 hours)", input)]);
    assert!(matches!(mappings().with("Nothing", "x"), Err(TemplateError::Parameter(_))));
}

#[test]
fn a_schedule_with_a_value_only_a_deployment_knows_is_refused() {
    for (known, unknown) in [
        ("!Ref Schedule", "!Ref Secret"),
        ("!Ref Schedule", "!ImportValue Schedule"),
        ("${Topic}", "${Secret}"),
        ("${Topic}", "${Table.Arn}"),
        ("${Topic}", "${Topic"),
    ] {
        let text = MAPPINGS.replace(known, unknown);
        assert_ne!(text, MAPPINGS);
        let error = Template::parse(&text).unwrap().schedules().unwrap_err();
        assert!(matches!(error, TemplateError::Schedule { .. }), "{unknown}: {error}");
    }
}

#[test]
fn a_functions_variables_override_the_global_ones() {
    let of = |function| mappings().environment(function).unwrap();
    let expected = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
    };
    assert_eq!(of("Plain"), expected(&[("LEVEL", "info"), ("LIMIT", "100"), ("MODE", "slow")]));
    // Only a deployment knows the function's own LEVEL. The global LEVEL, which it overrides, does not replace it.
    assert_eq!(of("FanOut"), expected(&[("LIMIT", "100"), ("MODE", "fast"), ("PULL", "true")]));
    assert!(matches!(mappings().environment("Table"), Err(TemplateError::Function(_))));
}

#[test]
fn a_timeout_is_the_functions_the_global_or_lambdas_default() {
    let template = |globals: &str, own: &str| {
        let text =
            format!("{globals}\nResources:\n  F: {{Type: AWS::Serverless::Function, Properties: {{{own}}}}}");
        Template::parse(&text).unwrap()
    };
    let of = |globals: &str, own: &str| template(globals, own).timeout("F").unwrap().as_secs();
    let globals = "Globals: {Function: {Timeout: 10}}";
    assert_eq!([of(globals, "Timeout: 60"), of(globals, ""), of("", "")], [60, 10, 3]);
    assert!(matches!(template("", "").timeout("G"), Err(TemplateError::Function(_))));
    assert!(matches!(template("", "Timeout: soon").timeout("F"), Err(TemplateError::Resource { .. })));
}

#[test]
fn statements_are_those_of_inline_policies() {
    let statement = |sid: Option<&str>, effect: &str, actions: &[&str], resources: &[&str]| Statement {
        sid: sid.map(str::to_owned),
        effect: effect.to_owned(),
        actions: actions.iter().map(|action| action.to_string()).collect(),
        resources: resources.iter().map(|resource| resource.to_string()).collect(),
        conditions: serde_json::Value::Null,
    };
    let mut write = statement(
        None,
        "Allow",
        &["dynamodb:PutItem", "dynamodb:DeleteItem"],
        &[
            "${Table.Arn}",
            "${Table.Arn}/index/gsi1",
            "${Bucket}/*",
            "${Other}",
            "*",
            r#"{"Fn::Join":["",["a","b"]]}"#,
        ],
    );
    write.conditions = serde_json::json!({"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["FEED#*"]}});
    let expected = [
        statement(Some("Read"), "Allow", &["dynamodb:GetItem"], &["${Table.Arn}"]),
        write,
        statement(None, "Deny", &["s3:*"], &["*"]),
    ];
    assert_eq!(mappings().statements("FanOut").unwrap(), expected);
    assert_eq!(mappings().statements("Plain").unwrap(), []);
    assert!(matches!(mappings().statements("Nothing"), Err(TemplateError::Function(_))));
}
