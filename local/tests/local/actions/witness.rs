//! A witness: it records the calls of a function, and compares them with the grants of the template.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::interceptors::BeforeTransmitInterceptorContextRef;
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_dynamodb::error::BoxError;
use lately::TEMPLATE;
use lately_kit::limits::OPERATION_BUDGET;
use lately_kit::world::World;
use lately_store::Store;
use lately_table::Connection;
use lately_template::{Statement, Template};
use serde_json::Value;

/// The table, in the syntax of `Fn::Sub`.
const TABLE: &str = "${Table.Arn}";

/// An action on a table or a bucket, performed by one call.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct RecordedAction {
    /// The action's name in IAM.
    action: String,
    /// The resource, in the syntax of `Fn::Sub`.
    resource: String,
    /// The partitions, or the prefix of a list. One statement must allow all of them, because IAM checks a batch as a
    /// whole. AWS does not document which keys IAM checks for an action of a transaction: the item's, those of all items
    /// with this action, or those of the whole transaction. A statement that allows the last also allows the others.
    partitions: BTreeSet<String>,
}

/// An action that a statement allows in partitions that match a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Grant<'a> {
    action: &'a str,
    resource: &'a str,
    partition: &'a str,
}

/// Records actions. Clones share the record.
#[derive(Clone, Debug, Default)]
pub(super) struct Witness(Arc<Mutex<BTreeSet<RecordedAction>>>);

impl Witness {
    /// A client whose calls are recorded.
    pub(super) fn client(&self, client: &Client) -> Client {
        Client::from_conf(client.config().to_builder().interceptor(self.clone()).build())
    }

    /// A store whose calls are recorded.
    pub(super) fn store(&self, client: &Client) -> Store {
        Store::new(Connection::new(self.client(client), "lately", World::new(), OPERATION_BUDGET))
    }

    pub(super) fn saw(&self, action: &str, resource: &str, partitions: impl IntoIterator<Item = String>) {
        let (action, resource) = (action.to_owned(), resource.to_owned());
        let deed = RecordedAction { action, resource, partitions: partitions.into_iter().collect() };
        self.0.lock().unwrap().insert(deed);
    }

    /// The actions of a function that are not granted, and the grants that no action used.
    pub(super) fn complaints(&self, function: &str) -> Vec<String> {
        let statements = Template::parse(TEMPLATE).unwrap().statements(function).unwrap();
        let done = self.0.lock().unwrap().clone();
        let mut used = BTreeSet::new();
        // The report has one line for all refused actions of a kind.
        let mut refused = BTreeMap::new();
        for deed in &done {
            match statements.iter().find_map(|statement| deed.allowed_by(statement)) {
                Some(grants) => used.extend(grants),
                None => drop(refused.insert((&deed.action, &deed.resource, deed.families()), deed)),
            }
        }
        let granted: Vec<_> = statements.iter().flat_map(grants).collect();
        let idle = granted.iter().filter(|grant| !used.contains(grant));
        let again = (0..granted.len()).filter(|n| granted[..*n].contains(&granted[*n]));
        let refused = refused.into_values().map(|deed| format!("done but not granted: {deed}"));
        let idle = idle.map(|grant| format!("granted but not done: {grant}"));
        let again = again.map(|n| format!("granted twice: {}", granted[n]));
        refused.chain(idle).chain(again).map(|complaint| format!("{function}: {complaint}")).collect()
    }
}

impl RecordedAction {
    /// The grants of a statement that together allow this action, if they do.
    fn allowed_by<'a>(&self, statement: &'a Statement) -> Option<Vec<Grant<'a>>> {
        let grants = grants(statement);
        let allowing = |it: &String| {
            let fits = |grant: &&Grant<'_>| {
                grant.action == self.action && grant.resource == self.resource && is_like(it, grant.partition)
            };
            grants.iter().find(fits).copied()
        };
        self.partitions.iter().map(allowing).collect()
    }

    /// The first parts of the partitions.
    fn families(&self) -> BTreeSet<&str> {
        self.partitions.iter().filter_map(|partition| partition.split('#').next()).collect()
    }
}

impl fmt::Display for RecordedAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { action, resource, .. } = self;
        write!(f, "{action} of {:?} in {resource}", self.families())
    }
}

impl fmt::Display for Grant<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { action, resource, partition } = self;
        write!(f, "{action} of {partition} in {resource}")
    }
}

/// The grants of a statement: each of its actions on each resource in each partition.
fn grants(statement: &Statement) -> Vec<Grant<'_>> {
    let Statement { effect, actions, resources, conditions, .. } = statement;
    assert_eq!(effect, "Allow");
    // An unknown condition could allow less or more than this test assumes. `Null` requires that the call names a
    // partition, which holds for each recorded call.
    let known = ["ForAllValues:StringLike", "Null", "StringLikeIfExists"];
    let conditions_of = conditions.as_object().into_iter().flatten();
    assert!(conditions_of.map(|(name, _)| name).all(|name| known.contains(&name.as_str())), "{conditions}");
    let partitions = match conditions.pointer("/ForAllValues:StringLike/dynamodb:LeadingKeys") {
        Some(patterns) => patterns.as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect(),
        None => match conditions.pointer("/StringLikeIfExists/s3:prefix/Fn::Sub") {
            Some(pattern) => vec![pattern.as_str().unwrap()],
            None => vec!["*"],
        },
    };
    let mut grants = Vec::new();
    for action in actions {
        for resource in resources {
            grants.extend(partitions.iter().map(|partition| Grant { action, resource, partition }));
        }
    }
    grants
}

fn is_like(text: &str, pattern: &str) -> bool {
    pattern.strip_suffix('*').map_or(text == pattern, |prefix| text.starts_with(prefix))
}

impl Intercept for Witness {
    fn name(&self) -> &'static str {
        "Witness"
    }

    fn read_before_transmit(
        &self,
        context: &BeforeTransmitInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let request = context.request();
        let target = request.headers().get("x-amz-target").unwrap();
        let body = serde_json::from_slice(request.body().bytes().unwrap())?;
        self.saw_call(target.split_once('.').unwrap().1, &body);
        Ok(())
    }
}

impl Witness {
    /// Records the actions of a call, as IAM counts them.
    fn saw_call(&self, operation: &str, body: &Value) {
        let key = |item: &Value| item["pk"]["S"].as_str().unwrap().to_owned();
        let mut done: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut deed = |action: String, partition: String| done.entry(action).or_default().push(partition);
        match operation {
            "PutItem" => deed(operation.to_owned(), key(&body["Item"])),
            "GetItem" | "UpdateItem" | "DeleteItem" => deed(operation.to_owned(), key(&body["Key"])),
            "BatchGetItem" => {
                let keys = body["RequestItems"]["lately"]["Keys"].as_array().unwrap();
                keys.iter().for_each(|it| deed(operation.to_owned(), key(it)));
            }
            "BatchWriteItem" => {
                for write in body["RequestItems"]["lately"].as_array().unwrap() {
                    let put = write.get("PutRequest").map(|put| &put["Item"]);
                    let partition = key(put.unwrap_or_else(|| &write["DeleteRequest"]["Key"]));
                    deed(operation.to_owned(), partition);
                }
            }
            "TransactWriteItems" | "TransactGetItems" => {
                let parts = body["TransactItems"].as_array().unwrap().iter();
                let parts: Vec<_> = parts.flat_map(|part| part.as_object().unwrap()).collect();
                for (kind, _) in &parts {
                    for (_, part) in &parts {
                        let partition = key(part.get("Item").unwrap_or_else(|| &part["Key"]));
                        deed(format!("{kind}Item"), partition);
                    }
                }
            }
            "Query" => {
                let condition = body["KeyConditionExpression"].as_str().unwrap();
                let name = condition.split(" AND ").next().unwrap().split_once(" = ").unwrap().1;
                let partition = body["ExpressionAttributeValues"][name]["S"].as_str().unwrap().to_owned();
                if let Some(index) = body["IndexName"].as_str() {
                    self.saw("dynamodb:Query", &format!("{TABLE}/index/{index}"), [partition]);
                    return;
                }
                deed(operation.to_owned(), partition);
            }
            _ => panic!("{operation}"),
        }
        for (action, partitions) in done {
            self.saw(&format!("dynamodb:{action}"), TABLE, partitions);
        }
    }
}
