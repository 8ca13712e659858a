//! `template.yaml`, parsed: the table that it declares, the routes, the stream mappings, and what its
//! functions are given and allowed.
//!
//! The document becomes JSON first, CloudFormation's short tags in their long form (`!Ref X` is
//! `{"Ref": "X"}`, `!Sub` is `{"Fn::Sub": …}`), so that what is read from it is read with serde. A
//! reference to a parameter that has a default, or was given a value, is that. Other values that only a
//! deployment knows are left as they are: what is read here must be literal.

mod error;
mod function;
mod mapping;
mod parameter;
mod schedule;
mod table;
mod template;
mod yaml;

pub use error::TemplateError;
pub use function::Statement;
pub use schedule::Schedule;
pub use template::{Resource, Route, Template};
