//! Fuzzes the template reader.
#![no_main]

use lately_template::Template;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(template) = Template::parse(text) else { return };
    drop(template.table());
    drop(template.routes());
    drop(template.mappings());
    drop(template.schedules());
    let functions: Vec<_> = template.of_kind("AWS::Serverless::Function").map(|(name, _)| name.to_owned()).collect();
    for function in functions {
        drop(template.environment(&function));
        drop(template.timeout(&function));
        drop(template.statements(&function));
    }
});
