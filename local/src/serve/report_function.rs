//! The report function. A schedule invokes it, and the stream invokes it to continue unfinished runs.

use std::time::Duration;

use lately_pump::{Handler, HandlerError};
use lately_report::{Answer, Output};
use tokio::sync::mpsc;
use tokio::time::MissedTickBehavior;

use crate::serve::system::{System, refused, report_input, time_of};

/// The report function. It sends its answers to a channel, from which the program prints the reports.
#[derive(Clone, Debug)]
pub(crate) struct ReportFunction {
    pub(crate) system: System,
    pub(crate) output: Output,
    pub(crate) answer_sender: mpsc::UnboundedSender<Answer>,
}

impl ReportFunction {
    /// Invokes the function with an event.
    async fn invoke(&self, event: &str) -> Result<String, HandlerError> {
        let Self { system, output, answer_sender } = self;
        let time = time_of("ReportFunction");
        let answer = lately_report::handle(&system.store, output, event.as_bytes(), time).await;
        let answer = answer.map_err(refused)?;
        let json = system.answered(&answer)?;
        // The receiver is gone when the program is ending.
        drop(answer_sender.send(answer));
        Ok(json)
    }

    /// The handler for a stream mapping.
    pub(crate) fn handler(self) -> Handler {
        Handler::new(move |event| {
            let report_function = self.clone();
            async move { report_function.invoke(&event).await }
        })
    }

    /// Invokes the function with the schedule's input, at once and then at each interval, until it is stopped.
    pub(crate) async fn run(self, every: Duration) {
        let (input, mut ticks) = (report_input(), tokio::time::interval(every));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            if let Err(error) = self.invoke(&input).await {
                tracing::error!(%error, "the scheduled report failed");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use lately_engine::OpenProgress;
    use lately_items::ConsumerKey;
    use lately_model::{NewEvent, RunSpec, TopicChange};
    use lately_pump::PumpFaults;
    use lately_report::{Outcome, Report};
    use lately_store::Submission;
    use lately_template::Template;

    use super::*;

    #[tokio::test]
    async fn the_stream_continues_an_unfinished_run() {
        let system = System::open(None, OpenProgress::default()).await.expect("it is in memory");
        let store = &system.store;
        let topic: lately_keys::Topic = "billing".parse().expect("a topic's name");
        store.op().topic(&topic).put(&TopicChange::default()).await.expect("it is new");
        let event = NewEvent {
            event_type: "a".parse().expect("a type"),
            actor: "acme".parse().expect("an actor"),
            subject: None,
            data: None,
            at: Some(store.now().saturating_sub(60_000)),
        };
        let submission = Submission { may_import: true, ..Submission::new(vec![event]) };
        store.op().topic(&topic).write(submission).await.expect("the topic exists");

        let folder = tempfile::tempdir().expect("a folder of one's own");
        let output = Output::folder(folder.path()).expect("it is there");
        let (answer_sender, mut answers) = mpsc::unbounded_channel();
        let report_function =
            ReportFunction { system: system.clone(), output: output.clone(), answer_sender };
        let pump = system
            .pump_of("ReportFunction", report_function.handler(), None, PumpFaults::default(), None)
            .expect("it is declared");
        let pumping = pump.handle();
        tokio::spawn(pump.run());
        let consumer = ConsumerKey { topic, name: "report".parse().expect("a name") };
        let report = Report { consumer, spec: RunSpec::default() };
        // The function reserves this much time, so the run stays unfinished.
        let first = lately_report::run(store, &output, &report, Duration::from_secs(1)).await.expect("begun");
        let Outcome::Unfinished { to: end } = first else { panic!("{first:?}") };
        // In this folder the template's lifecycle rule removes the files of a crashed run.
        let attempts = folder.path().join(".attempts");
        assert!(attempts.exists());
        pumping.settled().await;
        let outcomes = answers.recv().await.expect("it is invoked").outcomes;
        let [Outcome::Finished { to, events: 1, .. }] = &outcomes[..] else { panic!("{outcomes:?}") };
        assert_eq!(*to, end);
        assert!(answers.try_recv().is_err(), "it is invoked once");
        assert!(!attempts.exists());
        let template = Template::parse(crate::serve::system::TEMPLATE).expect("it is what was built");
        let rules = &template.resources["Reports"].properties["LifecycleConfiguration"]["Rules"];
        assert_eq!(rules[0]["Prefix"]["Fn::Sub"], "${ReportPrefix}/.attempts/");
    }
}
