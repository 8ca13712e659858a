//! Makes the console's script: one file of all modules in `console/`.
//!
//! A browser requests a module only when it has the module that imports it, and opens few connections to a host. On a
//! slow line, 50 modules would take many round trips, and one script takes one. The modules stay plain JavaScript, which
//! a browser runs as they are.
//!
//! Each module becomes a function that runs once, after the modules that it imports. So its names stay its own. The
//! modules use `import { a, b as c }`, `import * as a`, `export` before `const`, `function`, `async function`,
//! `async function*` or `class`, and a list `export { … };` as the last statement. They do not import each other in a
//! circle. Any other form fails the build.

use std::path::{Path, PathBuf};
use std::{env, fs};

/// The module that imports all others.
const FIRST: &str = "app";

fn main() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../console");
    let mut bundle = Bundle { folder, begun: Vec::new(), script: String::new() };
    bundle.add(FIRST);
    let out = env::var_os("OUT_DIR").expect("Cargo sets OUT_DIR");
    fs::write(Path::new(&out).join("console.js"), bundle.script).expect("Cargo's folder can be written");
}

struct Bundle {
    folder: PathBuf,
    /// The modules that are in the script, or whose imports are being added.
    begun: Vec<String>,
    script: String,
}

impl Bundle {
    /// Adds a module after its imports.
    fn add(&mut self, name: &str) {
        if self.begun.iter().any(|it| it == name) {
            let marker = format!("const ${name} = ");
            assert!(self.script.contains(&marker), "console/{name}.js imports itself through other modules");
            return;
        }
        self.begun.push(name.to_owned());
        let path = self.folder.join(name).with_extension("js");
        println!("cargo::rerun-if-changed={}", path.display());
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let (mut body, mut exports) = (String::new(), Vec::new());
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            if line.starts_with("import ") {
                let mut statement = line.to_owned();
                while !statement.ends_with(';') {
                    statement.push_str(lines.next().expect("an import ends with a semicolon"));
                }
                let (names, module) = import(&statement).unwrap_or_else(|| panic!("{name}.js: {statement}"));
                self.add(&module);
                body.push_str(&format!("const {names} = ${module};"));
            } else if line == "export {" {
                let listed = lines.by_ref().take_while(|line| *line != "};");
                exports.extend(listed.map(|line| line.trim().trim_end_matches(',')));
            } else if let Some(declared) = line.strip_prefix("export ") {
                exports.push(exported(declared).unwrap_or_else(|| panic!("{name}.js: {line}")));
                body.push_str(declared);
            } else {
                body.push_str(line);
            }
            body.push('\n');
        }
        let exports = exports.join(", ");
        self.script.push_str(&format!("const ${name} = (() => {{\n{body}return {{ {exports} }};\n}})();\n"));
    }
}

/// The names of an import as a pattern, and the module.
fn import(statement: &str) -> Option<(String, String)> {
    let (names, module) = statement.strip_prefix("import ")?.strip_suffix("\";")?.split_once(" from \"./")?;
    let module = module.strip_suffix(".js")?.to_owned();
    if let Some(name) = names.strip_prefix("* as ") {
        return Some((name.to_owned(), module));
    }
    let listed = names.strip_prefix('{')?.strip_suffix('}')?.replace(" as ", ": ");
    Some((format!("{{{listed}}}"), module))
}

/// The name that a line declares.
fn exported(line: &str) -> Option<&str> {
    let kinds = ["const ", "function ", "async function ", "async function* ", "class "];
    let rest = kinds.iter().find_map(|kind| line.strip_prefix(kind))?;
    let name = rest.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').next();
    name.filter(|it| !it.is_empty())
}
