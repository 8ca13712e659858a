//! Options that take one of a few words. The shells' completions offer the words.

use std::fmt::Debug;
use std::str::FromStr;

use clap::builder::{PossibleValuesParser, TypedValueParser};

/// A parser of these values by their names.
pub(crate) fn one_of<T>(
    values: &[T],
    name: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> + use<T>
where
    T: FromStr<Err: Debug> + Copy + Send + Sync + 'static,
{
    let names: Vec<_> = values.iter().map(|value| name(*value)).collect();
    PossibleValuesParser::new(names).map(|name| name.parse().expect("the name of one of the values"))
}
