//! Conditions and updates as values, and the expressions that DynamoDB reads.
//!
//! Names and values stand in an expression as placeholders (`#0`, `:0`), because some names are reserved words. Pure.

use std::borrow::Cow;
use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use lately_keys::{Key, TableKey};

use lately_items::{Item, Value};

type Name = Cow<'static, str>;

/// A condition on an item's attributes: of a write, or of the items that a query returns.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition(Term);

#[derive(Clone, Debug, PartialEq)]
enum Term {
    Exists(Name),
    Absent(Name),
    Compared(Name, &'static str, AttributeValue),
    Between(Name, AttributeValue, AttributeValue),
    BeginsWith(Name, AttributeValue),
    SizeAtMost(Name, AttributeValue),
    Lacks(Name, AttributeValue),
    All(Vec<Term>),
    Any(Vec<Term>),
}

impl Condition {
    /// The attribute exists.
    pub fn exists(name: impl Into<Name>) -> Self {
        Self(Term::Exists(name.into()))
    }

    /// The attribute does not exist.
    pub fn absent(name: impl Into<Name>) -> Self {
        Self(Term::Absent(name.into()))
    }

    /// There is no item.
    pub fn no_item() -> Self {
        Self::absent("pk")
    }

    /// There is an item.
    pub fn any_item() -> Self {
        Self::exists("pk")
    }

    /// The attribute has this value.
    pub fn equals(name: impl Into<Name>, value: impl Into<Value>) -> Self {
        Self::compared(name, "=", value)
    }

    /// The attribute has another value.
    pub fn differs(name: impl Into<Name>, value: impl Into<Value>) -> Self {
        Self::compared(name, "<>", value)
    }

    /// The attribute is less than a value.
    pub fn below(name: impl Into<Name>, value: impl Into<Value>) -> Self {
        Self::compared(name, "<", value)
    }

    /// The attribute is a value, or less.
    pub fn at_most(name: impl Into<Name>, value: impl Into<Value>) -> Self {
        Self::compared(name, "<=", value)
    }

    /// The attribute is greater than a value.
    pub fn above(name: impl Into<Name>, value: impl Into<Value>) -> Self {
        Self::compared(name, ">", value)
    }

    /// The attribute lies between two values, or is one of them.
    pub fn between(name: impl Into<Name>, least: impl Into<Value>, greatest: impl Into<Value>) -> Self {
        Self(Term::Between(name.into(), least.into().into_attribute(), greatest.into().into_attribute()))
    }

    /// The attribute begins with a text.
    pub fn begins_with(name: impl Into<Name>, prefix: impl Into<Value>) -> Self {
        Self(Term::BeginsWith(name.into(), prefix.into().into_attribute()))
    }

    /// The attribute is a set of this many members, or fewer.
    pub fn size_at_most(name: impl Into<Name>, members: u64) -> Self {
        Self(Term::SizeAtMost(name.into(), Value::from(members).into_attribute()))
    }

    /// The attribute does not exist, or is a text without this part, or a set without this member.
    pub fn lacks(name: impl Into<Name>, part: impl Into<Value>) -> Self {
        Self(Term::Lacks(name.into(), part.into().into_attribute()))
    }

    /// Both conditions hold.
    pub fn and(self, other: Self) -> Self {
        Self(match self.0 {
            Term::All(mut terms) => {
                terms.push(other.0);
                Term::All(terms)
            }
            one => Term::All(vec![one, other.0]),
        })
    }

    /// At least one of both conditions holds.
    pub fn or(self, other: Self) -> Self {
        Self(match self.0 {
            Term::Any(mut terms) => {
                terms.push(other.0);
                Term::Any(terms)
            }
            one => Term::Any(vec![one, other.0]),
        })
    }

    fn compared(name: impl Into<Name>, operator: &'static str, value: impl Into<Value>) -> Self {
        Self(Term::Compared(name.into(), operator, value.into().into_attribute()))
    }
}

/// An update of one item. It creates the item if there is none, unless its condition forbids this.
#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    key: Key,
    set: Vec<(Name, AttributeValue)>,
    add: Vec<(Name, AttributeValue)>,
    remove: Vec<Name>,
    take: Vec<(Name, AttributeValue)>,
    condition: Option<Condition>,
}

impl Update {
    /// An update of the item under a key of the table.
    pub fn of<K: TableKey>(key: &K) -> Self {
        Self::under(key.encode())
    }

    /// An update of the item under a key of the table.
    pub const fn under(key: Key) -> Self {
        Self { key, set: Vec::new(), add: Vec::new(), remove: Vec::new(), take: Vec::new(), condition: None }
    }

    /// Sets an attribute.
    pub fn set(mut self, name: impl Into<Name>, value: impl Into<Value>) -> Self {
        self.set.push((name.into(), value.into().into_attribute()));
        self
    }

    /// Adds to a number, or adds members to a set.
    pub fn add(mut self, name: impl Into<Name>, value: impl Into<Value>) -> Self {
        self.add.push((name.into(), value.into().into_attribute()));
        self
    }

    /// Removes an attribute.
    pub fn remove(mut self, name: impl Into<Name>) -> Self {
        self.remove.push(name.into());
        self
    }

    /// Takes members out of a set.
    pub fn take(mut self, name: impl Into<Name>, members: impl Into<Value>) -> Self {
        self.take.push((name.into(), members.into().into_attribute()));
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
        let differs = !update.set.is_empty() || !update.remove.is_empty();
        differs.then_some(update)
    }
}

impl Update {
    /// The key of the item.
    pub(crate) const fn key(&self) -> &Key {
        &self.key
    }

    /// The update in DynamoDB's syntax, and its condition with the names and values of both.
    pub(crate) fn expression(&self) -> (String, Expression) {
        let mut placeholders = Placeholders::default();
        let mut clauses = Vec::new();
        let mut clause = |word: &str, parts: Vec<String>| {
            if !parts.is_empty() {
                clauses.push(format!("{word} {}", parts.join(", ")));
            }
        };
        let mut pairs = |parts: &[(Name, AttributeValue)], between: &str| -> Vec<String> {
            let pair = |(name, value): &(Name, _)| {
                [placeholders.name(name), placeholders.value(value)].join(between)
            };
            parts.iter().map(pair).collect()
        };
        clause("SET", pairs(&self.set, " = "));
        clause("ADD", pairs(&self.add, " "));
        clause("DELETE", pairs(&self.take, " "));
        clause("REMOVE", self.remove.iter().map(|name| placeholders.name(name)).collect());
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

    pub(crate) fn value(&mut self, value: &AttributeValue) -> String {
        self.values.push(value.clone());
        format!(":{}", self.values.len() - 1)
    }

    pub(crate) fn condition(&mut self, condition: &Condition) -> String {
        self.term(&condition.0)
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

    fn term(&mut self, term: &Term) -> String {
        match term {
            Term::Exists(name) => format!("attribute_exists({})", self.name(name)),
            Term::Absent(name) => format!("attribute_not_exists({})", self.name(name)),
            Term::Compared(name, operator, value) => {
                format!("{} {operator} {}", self.name(name), self.value(value))
            }
            Term::Between(name, least, greatest) => {
                format!("{} BETWEEN {} AND {}", self.name(name), self.value(least), self.value(greatest))
            }
            Term::BeginsWith(name, prefix) => {
                format!("begins_with({}, {})", self.name(name), self.value(prefix))
            }
            Term::SizeAtMost(name, most) => format!("size({}) <= {}", self.name(name), self.value(most)),
            Term::Lacks(name, part) => format!("NOT contains({}, {})", self.name(name), self.value(part)),
            Term::All(terms) => self.terms(terms, " AND "),
            Term::Any(terms) => self.terms(terms, " OR "),
        }
    }

    fn terms(&mut self, terms: &[Term], between: &str) -> String {
        let terms: Vec<_> = terms.iter().map(|term| format!("({})", self.term(term))).collect();
        terms.join(between)
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
        assert_eq!(text(Condition::differs("a", "x")), "#0 <> :0");
        assert_eq!(text(Condition::below("a", "x")), "#0 < :0");
        assert_eq!(text(Condition::at_most("a", "x")), "#0 <= :0");
        assert_eq!(text(Condition::above("a", "x")), "#0 > :0");
        assert_eq!(text(Condition::between("a", 1_u64, 2_u64)), "#0 BETWEEN :0 AND :1");
        assert_eq!(text(Condition::begins_with("a", "x")), "begins_with(#0, :0)");
        assert_eq!(text(Condition::size_at_most("a", 3)), "size(#0) <= :0");
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
        update.set.sort_by(|one, other| one.0.cmp(&other.0));
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
