//! One start of a function: its process, with the environment variables that Lambda sets.

use std::process::{Command, Stdio};
use std::time::Instant;

use super::Result;
use super::binary::Binary;
use super::platform::RuntimeApi;
use crate::process::MeasuredProcess;

/// A function's process.
#[derive(Debug)]
pub(super) struct Process {
    process: MeasuredProcess,
    /// The time just before the process was spawned.
    pub(super) started: Instant,
}

impl Process {
    /// Starts a function, with these variables in addition to the platform's.
    ///
    /// # Errors
    /// If the function cannot be started.
    pub(super) fn start(binary: &Binary, api: &RuntimeApi, variables: &[(&str, &str)]) -> Result<Self> {
        let mut command = Command::new(&binary.path);
        set_environment(&mut command, api, binary);
        command.envs(variables.iter().copied());
        let started = Instant::now();
        Ok(Self { process: MeasuredProcess::start(&mut command)?, started })
    }

    /// The process's resident memory.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(super) fn resident_bytes(&self) -> Result<u64> {
        Ok(self.process.resident_bytes()?)
    }
}

/// Sets the variables of the platform and of `template.yaml`.
pub(super) fn set_environment(command: &mut Command, api: &RuntimeApi, binary: &Binary) {
    command.env_clear().stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).envs([
        ("AWS_LAMBDA_RUNTIME_API", api.address()),
        ("AWS_LAMBDA_FUNCTION_NAME", "function".to_owned()),
        ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "512".to_owned()),
        ("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST".to_owned()),
        ("AWS_LAMBDA_INITIALIZATION_TYPE", "on-demand".to_owned()),
        ("AWS_LAMBDA_LOG_GROUP_NAME", "/aws/lambda/function".to_owned()),
        ("AWS_LAMBDA_LOG_STREAM_NAME", "2026/11/21/[$LATEST]0".to_owned()),
        ("AWS_EXECUTION_ENV", "AWS_Lambda_provided.al2023".to_owned()),
        ("AWS_REGION", "eu-central-1".to_owned()),
        ("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE".to_owned()),
        ("AWS_SECRET_ACCESS_KEY", "secret".to_owned()),
        ("AWS_SESSION_TOKEN", "token".to_owned()),
        ("TABLE_NAME", "lately".to_owned()),
        ("BODY_BYTES", "65536".to_owned()),
        ("FAN_OUT_LIMIT", "10000".to_owned()),
        ("FEED_RETENTION_DAYS", "0".to_owned()),
        ("LOG_LEVEL", "info".to_owned()),
        ("OUTPUT", "s3://reports/reports".to_owned()),
        ("PATH", "/usr/local/bin:/usr/bin/:/bin".to_owned()),
        ("LANG", "en_US.UTF-8".to_owned()),
        ("TZ", ":UTC".to_owned()),
    ]);
    command.envs(binary.variables.iter().copied());
}
