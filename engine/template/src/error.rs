//! The errors of reading a template.

use std::error::Error;

/// The template cannot be read, or lacks the requested part.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    /// The text is not YAML.
    #[error("not YAML: {0}")]
    Yaml(#[from] saphyr::ScanError),
    /// The text is YAML, but not a template.
    #[error("not a template: {0}")]
    Shape(#[source] serde_json::Error),
    /// A resource's properties do not fit its type.
    #[error("resource {id}: {source}")]
    Resource {
        /// The resource's logical id.
        id: String,
        /// The reason.
        source: serde_json::Error,
    },
    /// The template declares no table, or more than one.
    #[error("the template declares {0} tables, but it must declare exactly one")]
    Tables(usize),
    /// The template declares no function with this logical id.
    #[error("the template declares no function {0}")]
    Function(String),
    /// The template declares no parameter with this name.
    #[error("the template declares no parameter {0}")]
    Parameter(String),
    /// The expression or input of a schedule has a value that only a deployment knows.
    #[error(
        "function {function}, event {event}: ScheduleExpression and Input must be literals, or refer to parameters with \
         a value"
    )]
    Schedule {
        /// The function's logical id.
        function: String,
        /// The event's logical id.
        event: String,
    },
    /// A stream mapping is not valid in Lambda, or this engine does not support it.
    #[error("function {function}, event {event}: {problem}")]
    Mapping {
        /// The function's logical id.
        function: String,
        /// The event's logical id.
        event: String,
        /// The reason.
        problem: Box<dyn Error + Send + Sync>,
    },
}
