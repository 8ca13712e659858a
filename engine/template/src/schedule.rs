//! A `ScheduleV2` event of a function: when it is invoked, and with what.
//!
//! Both are given as `EventBridge` Scheduler would have them, so that what is run elsewhere on another schedule is
//! invoked with the very input that it gets in the cloud.

use serde::Deserialize;
use serde_json::Value;

use crate::parameter::Parameters;

/// A schedule on which a function is invoked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    /// The function's logical id.
    pub function: String,
    /// The event's.
    pub event: String,
    /// When: `rate(15 minutes)`, for example.
    pub expression: String,
    /// The event that the function is invoked with.
    pub input: String,
}

/// A schedule as the template declares it. Its other properties are about delivery, and only a deployment uses them.
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
