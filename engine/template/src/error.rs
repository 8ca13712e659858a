//! The faults of a template.

use lately_pump::FilterError;

/// The template cannot be read, or does not say what is asked for.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    /// It is not YAML.
    #[error("not YAML: {0}")]
    Yaml(#[from] saphyr::ScanError),
    /// It is YAML, but not a template.
    #[error("not a template: {0}")]
    Shape(#[source] serde_json::Error),
    /// A resource is not as its type needs.
    #[error("resource {id}: {source}")]
    Resource {
        /// Its logical id.
        id: String,
        /// The fault.
        source: serde_json::Error,
    },
    /// A table's keys, stream or projection are not what DynamoDB knows.
    #[error("resource {id}: {problem}")]
    Table {
        /// Its logical id.
        id: String,
        /// The fault.
        problem: &'static str,
    },
    /// It declares no table, or more than one.
    #[error("the template declares {0} tables where one is needed")]
    Tables(usize),
    /// It declares no function of that logical id.
    #[error("the template declares no function {0}")]
    Function(String),
    /// It declares no parameter of that name.
    #[error("the template declares no parameter {0}")]
    Parameter(String),
    /// A schedule's expression or input is one that only a deployment knows.
    #[error("function {function}, event {event}: ScheduleExpression and Input must be known")]
    Schedule {
        /// The function's logical id.
        function: String,
        /// The event's.
        event: String,
    },
    /// A stream mapping is not one that Lambda, or this engine, knows.
    #[error("function {function}, event {event}: {problem}")]
    Mapping {
        /// The function's logical id.
        function: String,
        /// The event's.
        event: String,
        /// The fault.
        problem: &'static str,
    },
    /// A stream mapping's filter is not one that Lambda, or this engine, knows.
    #[error("function {function}, event {event}: {source}")]
    Filter {
        /// The function's logical id.
        function: String,
        /// The event's.
        event: String,
        /// The fault.
        source: FilterError,
    },
}
