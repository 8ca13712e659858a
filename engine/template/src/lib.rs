//! Parses `template.yaml`: the table, the routes, the stream mappings, the schedules, and the functions' environments,
//! timeouts and policies.
//!
//! The document first becomes JSON, so that serde can read it. CloudFormation's short tags become their long form:
//! `!Ref X` becomes `{"Ref": "X"}`, `!Sub` becomes `{"Fn::Sub": …}`. A reference to a parameter is replaced by the
//! parameter's given value or its default. Values that only a deployment knows stay as they are, and cannot be read
//! where a literal is required.

mod error;
mod function;
mod mapping;
mod parameter;
mod schedule;
mod table;
mod template;
pub mod yaml;

pub use error::TemplateError;
pub use function::Statement;
pub use schedule::Schedule;
pub use template::{Resource, Route, Template};
