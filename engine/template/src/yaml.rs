//! Converts YAML to JSON, with CloudFormation's short tags in their long form.

use saphyr::{LoadableYamlNode, Scalar, ScanError, Yaml};
use serde_json::{Map, Value};

/// The first document of a YAML text as JSON; null if there is none.
///
/// # Errors
/// If the text is not YAML.
pub fn parse(text: &str) -> Result<Value, ScanError> {
    Ok(Yaml::load_from_str(text)?.first().map_or(Value::Null, json))
}

/// A node as JSON. A short tag becomes the function that it stands for.
fn json(node: &Yaml<'_>) -> Value {
    match node {
        Yaml::Value(Scalar::Null) | Yaml::Alias(_) | Yaml::BadValue => Value::Null,
        Yaml::Value(Scalar::Boolean(boolean)) => Value::from(*boolean),
        Yaml::Value(Scalar::Integer(integer)) => Value::from(*integer),
        Yaml::Value(Scalar::FloatingPoint(float)) => Value::from(float.into_inner()),
        Yaml::Value(Scalar::String(text)) => Value::from(text.as_ref()),
        Yaml::Representation(text, ..) => Value::from(text.as_ref()),
        Yaml::Sequence(items) => items.iter().map(json).collect(),
        Yaml::Mapping(entries) => {
            let entry = |(name, value): (&Yaml<'_>, &Yaml<'_>)| (name_of(name), json(value));
            Value::Object(entries.iter().map(entry).collect())
        }
        Yaml::Tagged(tag, node) => {
            let name = match tag.suffix.as_ref() {
                name @ ("Ref" | "Condition") => name.to_owned(),
                name => format!("Fn::{name}"),
            };
            let value = match (tag.suffix.as_ref(), json(node)) {
                // `!GetAtt A.B` is `{"Fn::GetAtt": ["A", "B"]}`.
                ("GetAtt", Value::String(path)) => path.splitn(2, '.').collect(),
                (_, value) => value,
            };
            Value::Object(Map::from_iter([(name, value)]))
        }
    }
}

/// The key of a YAML mapping. CloudFormation's keys are text, but YAML reads some (`200:`, `true:`) as other types.
fn name_of(node: &Yaml<'_>) -> String {
    match json(node) {
        Value::String(name) => name,
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::Template;

    #[test]
    fn short_tags_become_their_long_form() {
        let text = "
Resources:
  R:
    Type: X
    Properties:
      A: !Ref Table
      B: !Sub '${AWS::StackName}-table'
      C: !GetAtt Table.StreamArn
      D: !If [Live, !Ref Yes, 5]
      E: !Sub
        - '${a}'
        - {a: !Ref B}
      F: {Fn::Join: ['', [a, b]]}
      G: !Equals [!Ref Stage, live]
      H: !ImportValue shared
      200: ok
";
        let template = Template::parse(text).unwrap();
        let expected = json!({
            "A": {"Ref": "Table"},
            "B": {"Fn::Sub": "${AWS::StackName}-table"},
            "C": {"Fn::GetAtt": ["Table", "StreamArn"]},
            "D": {"Fn::If": ["Live", {"Ref": "Yes"}, 5]},
            "E": {"Fn::Sub": ["${a}", {"a": {"Ref": "B"}}]},
            "F": {"Fn::Join": ["", ["a", "b"]]},
            "G": {"Fn::Equals": [{"Ref": "Stage"}, "live"]},
            "H": {"Fn::ImportValue": "shared"},
            "200": "ok",
        });
        assert_eq!(template.resources["R"].properties, expected);
    }
}
