//! A `ScheduleV2` event of a function: the schedule on which the function is invoked, and its input.
//!
//! Both have the form that `EventBridge` Scheduler uses. So a function that another program invokes, even on another
//! schedule, gets the same input as in the cloud.

use serde::Deserialize;
use serde_json::Value;

use crate::parameter::Parameters;

/// A schedule on which a function is invoked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    /// The function's logical id.
    pub function: String,
    /// The event's logical id.
    pub event: String,
    /// The times of the invocations: `rate(15 minutes)`, for example.
    pub expression: String,
    /// The event with which the function is invoked.
    pub input: String,
}

/// A schedule in the template's notation. Its other properties concern delivery, and only a deployment uses them.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct DeclaredSchedule {
    schedule_expression: Value,
    input: Value,
}

impl DeclaredSchedule {
    /// The schedule, if its values are known without a deployment.
    pub(crate) fn schedule(&self, function: &str, event: &str, parameters: &Parameters) -> Option<Schedule> {
        Some(Schedule {
            function: function.to_owned(),
            event: event.to_owned(),
            expression: parameters.text(&self.schedule_expression)?,
            input: parameters.text(&self.input)?,
        })
    }
}
