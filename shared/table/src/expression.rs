//! Conditions and updates as values, and the expressions that DynamoDB reads.
//!
//! Names and values stand in an expression as placeholders (`#0`, `:0`), because some names are reserved words. Pure.

use std::borrow::Cow;
use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use lately_keys::{Key, TableKey};

use lately_items::{Item, Record, Value};

type Name = Cow<'static, str>;

/// A condition on an item's attributes: of a write, or of the items that a query returns.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition(Term);

#[derive(Clone, Debug, PartialEq)]
enum Term {
    /// A condition on one attribute: its form, in which `{}` stands for the name and then for the values.
    Attribute(Name, &'static str, Vec<Value>),
    /// Conditions with this word between them.
    Joined(&'static str, Vec<Condition>),
}

impl Condition {
    /// A condition on one attribute, in DynamoDB's syntax. `{}` stands for the name, and then for each value.
    pub(crate) fn of(name: impl Into<Name>, form: &'static str, values: impl Into<Vec<Value>>) -> Self {
        Self(Term::Attribute(name.into(), form, values.into()))
    }

    /// There is no item.
    pub fn no_item() -> Self {
        Self::absent("pk")
    }

    /// There is an item.
    pub fn any_item() -> Self {
        Self::exists("pk")
    }

    /// Both conditions hold.
    pub fn and(self, other: Self) -> Self {
        self.joined(" AND ", other)
    }

    /// At least one of both conditions holds.
    pub fn or(self, other: Self) -> Self {
        self.joined(" OR ", other)
    }

    fn joined(self, word: &'static str, other: Self) -> Self {
        let mut terms = match self.0 {
            Term::Joined(known, terms) if known == word => terms,
            one => vec![Self(one)],
        };
        terms.push(other);
        Self(Term::Joined(word, terms))
    }
}

/// Declares conditions on one attribute, each with its form in DynamoDB's syntax. `{}` stands for the attribute's name, and
/// then for each value.
macro_rules! conditions {
    ($($(#[$doc:meta])* $method:ident($($value:ident),*) = $form:literal;)*) => {
        impl Condition {
            $(
                $(#[$doc])*
                pub fn $method(name: impl Into<Name>, $($value: impl Into<Value>),*) -> Self {
                    Self::of(name, $form, [$($value.into()),*])
                }
            )*
        }
    };
}

conditions! {
    /// The attribute exists.
    exists() = "attribute_exists({})";

    /// The attribute does not exist.
    absent() = "attribute_not_exists({})";

    /// The attribute has this value.
    equals(value) = "{} = {}";

    /// The attribute is less than a value.
    below(value) = "{} < {}";

    /// The attribute is a value, or less.
    at_most(value) = "{} <= {}";

    /// The attribute is greater than a value.
    above(value) = "{} > {}";

    /// The attribute lies between two values, or is one of them.
    between(least, greatest) = "{} BETWEEN {} AND {}";

    /// The attribute is a set of this many members, or fewer.
    size_at_most(members) = "size({}) <= {}";

    /// The attribute does not exist, or is a text without this part, or a set without this member.
    lacks(part) = "NOT contains({}, {})";
}

/// An update of one item. It creates the item if there is none, unless its condition forbids this.
#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    key: Key,
    /// The changes of attributes, each with the word of its clause. Only removals have no value.
    changes: Vec<(&'static str, Name, Option<Value>)>,
    condition: Option<Condition>,
}

impl Update {
    /// An update of the item under a key of the table.
    pub fn of<K: TableKey>(key: &K) -> Self {
        Self::under(key.encode())
    }

    /// An update of the item under a key of the table.
    pub const fn under(key: Key) -> Self {
        Self { key, changes: Vec::new(), condition: None }
    }

    /// Sets an attribute.
    pub fn set(self, name: impl Into<Name>, value: impl Into<Value>) -> Self {
        self.with("SET", name, Some(value.into()))
    }

    /// Sets an attribute to a value, or removes it if there is none.
    pub fn assign(self, name: impl Into<Name>, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.set(name, value),
            None => self.remove(name),
        }
    }

    /// Sets all attributes of a record.
    pub fn set_all(self, record: &impl Record) -> Self {
        let attributes = record.add_to(Item::new()).into_attributes().into_iter();
        attributes.fold(self, |update, (name, value)| update.set(name, value))
    }

    /// Adds to a number, or adds members to a set.
    pub fn add(self, name: impl Into<Name>, value: impl Into<Value>) -> Self {
        self.with("ADD", name, Some(value.into()))
    }

    /// Removes an attribute.
    pub fn remove(self, name: impl Into<Name>) -> Self {
        self.with("REMOVE", name, None)
    }

    /// Takes members out of a set.
    pub fn take(self, name: impl Into<Name>, members: impl Into<Value>) -> Self {
        self.with("DELETE", name, Some(members.into()))
    }

    fn with(mut self, word: &'static str, name: impl Into<Name>, value: Option<Value>) -> Self {
        self.changes.push((word, name.into(), value));
        self
    }

    /// Makes the update only if a condition holds.
    pub fn only_if(self, condition: Condition) -> Self {
        Self { condition: Some(condition), ..self }
    }

    /// The update that turns `before` into `after`. It sets and removes the attributes that differ, and is made only if
    /// the attributes in `basis` still are as in `before`. `None` if nothing differs.
    pub fn between(key: Key, before: &Item, after: &Item, basis: &[&'static str]) -> Option<Self> {
        let (before, after) = (before.attributes(), after.attributes());
        let mut update = Self::under(key);
        for name in before.keys().filter(|name| !after.contains_key(*name)) {
            update = update.remove(name.clone());
        }
        for (name, value) in after.iter().filter(|(name, value)| before.get(*name) != Some(value)) {
            update = update.set(name.clone(), value.clone());
        }
        let held = basis.iter().map(|&name| match before.get(name) {
            Some(value) => Condition::equals(name, value.clone()),
            None => Condition::absent(name),
        });
        update.condition = held.reduce(Condition::and);
        Some(update).filter(|update| !update.changes.is_empty())
    }

    /// True if the update has a condition.
    pub(crate) const fn is_conditional(&self) -> bool {
        self.condition.is_some()
    }

    /// The key of the item.
    pub(crate) const fn key(&self) -> &Key {
        &self.key
    }

    /// The update in DynamoDB's syntax, and its condition with the names and values of both.
    pub(crate) fn expression(&self) -> (String, Expression) {
        let mut placeholders = Placeholders::default();
        let mut clauses = Vec::new();
        for (word, between) in [("SET", " = "), ("ADD", " "), ("DELETE", " "), ("REMOVE", "")] {
            let changes = self.changes.iter().filter(|(known, ..)| *known == word);
            let parts = changes.map(|(_, name, value)| {
                let name = placeholders.name(name);
                value.iter().fold(name, |name, value| name + between + &placeholders.value(value))
            });
            let parts: Vec<_> = parts.collect();
            if !parts.is_empty() {
                clauses.push(format!("{word} {}", parts.join(", ")));
            }
        }
        (clauses.join(" "), placeholders.expression(self.condition.as_ref()))
    }
}

/// A condition in DynamoDB's syntax, with the names and values of the whole expression.
#[derive(Clone, Debug)]
pub(crate) struct Expression {
    pub(crate) condition: Option<String>,
    pub(crate) names: Option<HashMap<String, String>>,
    pub(crate) values: Option<HashMap<String, AttributeValue>>,
}

/// Adds an [`Expression`] to a request that writes an item. DynamoDB returns the item if the condition does not hold.
macro_rules! conditional {
    ($request:expr, $expression:expr) => {{
        use aws_sdk_dynamodb::types::ReturnValuesOnConditionCheckFailure::AllOld;
        let crate::expression::Expression { condition, names, values } = $expression;
        $request
            .set_return_values_on_condition_check_failure(condition.is_some().then_some(AllOld))
            .set_condition_expression(condition)
            .set_expression_attribute_names(names)
            .set_expression_attribute_values(values)
    }};
}
pub(crate) use conditional;

/// The names and values of an expression, by their placeholders.
#[derive(Debug, Default)]
pub(crate) struct Placeholders {
    names: Vec<String>,
    values: Vec<AttributeValue>,
}

impl Placeholders {
    pub(crate) fn name(&mut self, name: &str) -> String {
        let known = self.names.iter().position(|known| known == name);
        let index = known.unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        });
        format!("#{index}")
    }

    pub(crate) fn value(&mut self, value: &Value) -> String {
        self.values.push(value.clone().into_attribute());
        format!(":{}", self.values.len() - 1)
    }

    pub(crate) fn condition(&mut self, condition: &Condition) -> String {
        match &condition.0 {
            Term::Attribute(name, form, values) => {
                let mut places = vec![self.name(name)];
                places.extend(values.iter().map(|value| self.value(value)));
                places.push(String::new());
                form.split("{}").zip(places).flat_map(|(fixed, place)| [fixed.to_owned(), place]).collect()
            }
            Term::Joined(word, terms) => {
                let terms: Vec<_> = terms.iter().map(|term| format!("({})", self.condition(term))).collect();
                terms.join(word)
            }
        }
    }

    /// An expression with these placeholders and a condition.
    pub(crate) fn expression(mut self, condition: Option<&Condition>) -> Expression {
        let condition = condition.map(|condition| self.condition(condition));
        let names: HashMap<_, _> = (0..).zip(self.names).map(|(n, name)| (format!("#{n}"), name)).collect();
        let values: HashMap<_, _> =
            (0..).zip(self.values).map(|(n, value)| (format!(":{n}"), value)).collect();
        let (has_names, has_values) = (!names.is_empty(), !values.is_empty());
        Expression { condition, names: has_names.then_some(names), values: has_values.then_some(values) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> Key {
        Key { pk: "a".to_owned(), sk: "b".to_owned() }
    }

    #[test]
    fn an_update_has_each_clause_and_each_name_once() {
        let update = Update::under(key())
            .set("mode", "pull")
            .set("from", 7_u64)
            .add("last", 1_u64)
            .take("left", Value::numbers([3]))
            .remove("gone")
            .only_if(Condition::equals("mode", "push").and(Condition::absent("gone")));
        let (text, expression) = update.expression();
        assert_eq!(text, "SET #0 = :0, #1 = :1 ADD #2 :2 DELETE #3 :3 REMOVE #4");
        assert_eq!(expression.condition.as_deref(), Some("(#0 = :4) AND (attribute_not_exists(#4))"));
        let names = expression.names.unwrap();
        assert_eq!((names.len(), names["#0"].as_str(), names["#4"].as_str()), (5, "mode", "gone"));
        assert_eq!(expression.values.unwrap()[":1"], Value::from(7_u64).into_attribute());
        assert_eq!(update.key(), &key());
    }

    #[test]
    fn conditions_are_written_in_dynamodbs_syntax() {
        let text = |condition: Condition| Placeholders::default().condition(&condition);
        assert_eq!(text(Condition::exists("a")), "attribute_exists(#0)");
        assert_eq!(text(Condition::no_item()), "attribute_not_exists(#0)");
        assert_eq!(text(Condition::equals("a", "x")), "#0 = :0");
        assert_eq!(text(Condition::below("a", "x")), "#0 < :0");
        assert_eq!(text(Condition::at_most("a", "x")), "#0 <= :0");
        assert_eq!(text(Condition::above("a", "x")), "#0 > :0");
        assert_eq!(text(Condition::between("a", 1_u64, 2_u64)), "#0 BETWEEN :0 AND :1");
        assert_eq!(text(Condition::size_at_most("a", 3_u64)), "size(#0) <= :0");
        assert_eq!(text(Condition::lacks("a", "x")), "NOT contains(#0, :0)");
        let a = || Condition::equals("a", "x");
        assert_eq!(
            text(a().and(a()).and(a().or(a()))),
            "(#0 = :0) AND (#0 = :1) AND ((#0 = :2) OR (#0 = :3))"
        );
    }

    #[test]
    fn an_update_between_items_changes_only_differing_attributes() {
        let before = Item::from([("a", "x"), ("b", "y"), ("c", "z")]).with("revision", 7_u64);
        let after = Item::from([("b", "Y"), ("c", "z"), ("d", "new")]).with("revision", 8_u64);
        let mut update = Update::between(key(), &before, &after, &["revision", "schema"]).unwrap();
        update.changes.sort_by(|one, other| one.1.cmp(&other.1));
        let wanted = Update::under(key())
            .remove("a")
            .set("b", "Y")
            .set("d", "new")
            .set("revision", 8_u64)
            .only_if(Condition::equals("revision", 7_u64).and(Condition::absent("schema")));
        assert_eq!(update, wanted);
        assert_eq!(Update::between(key(), &before, &before, &["revision"]), None);
    }
}
