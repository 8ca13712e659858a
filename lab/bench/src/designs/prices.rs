//! The picture of README: the price of the latest 50 events against the write rate, with a line for each design that
//! ends where the design throttles. Both axes are logarithmic.

use std::fmt::Write;

use crate::report::{Cell, Table};

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 330.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 690.0;
const TOP: f64 = 56.0;
const BOTTOM: f64 = 280.0;

/// The ends of the axes: writes a second, and read units.
const RATES: (f64, f64) = (100.0, 100_000.0);
const UNITS: (f64, f64) = (2.0, 200.0);

/// The rates at which the pages were read, with their columns.
const MEASURED: [(f64, &str); 2] =
    [(1000.0, "latest 50, 1,000 a second"), (20_000.0, "latest 50, 20,000 a second")];

const STYLE: &str = "text{font:13px system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif;fill:#59636e}\
    .title{font-size:15px;font-weight:600;fill:#1f2328}.ours{font-weight:600;fill:#1a7f37}\
    line{stroke:#d1d9e0}path{fill:none;stroke:#8c959f;stroke-width:2.5}path.ours{stroke:#1a7f37;stroke-width:3.5}\
    circle{fill:#8c959f}circle.ours{fill:#1a7f37}\
    @media(prefers-color-scheme:dark){text{fill:#9198a1}.title{fill:#f0f6fc}.ours{fill:#3fb950}line{stroke:#3d444d}\
    path{stroke:#656c76}path.ours{stroke:#3fb950}circle{fill:#656c76}circle.ours{fill:#3fb950}}";

/// A design's line: the designs of this price, the points that were measured, and the rate at which they throttle.
struct Line {
    names: Vec<String>,
    points: Vec<(f64, f64)>,
    end: f64,
}

/// The picture of the table `summary`.
pub(super) fn picture(summary: &Table) -> String {
    let lines = lines(summary);
    let title = "Read units of the latest 50 events, by write rate";
    let said: Vec<_> =
        lines.iter().map(|line| format!("{}: {}.", line.names.join(", "), line.words())).collect();
    let description = format!(
        "{} A line ends where its design throttles. Measured at 1,000 and 20,000 writes a second.",
        said.join(" ")
    );
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
         role=\"img\" aria-labelledby=\"title description\">\n\
         <title id=\"title\">{title}</title>\n<desc id=\"description\">{description}</desc>\n<style>{STYLE}</style>\n"
    );
    text(&mut svg, "title", (12.0, 26.0), title);
    for (rate, shown) in [(100.0, "100"), (1000.0, "1,000"), (10_000.0, "10,000"), (100_000.0, "100,000")] {
        add(&mut svg, &format!("<line x1=\"{0:.1}\" y1=\"{TOP}\" x2=\"{0:.1}\" y2=\"{BOTTOM}\"/>", x(rate)));
        text(&mut svg, "rate", (x(rate) - 18.0, BOTTOM + 18.0), shown);
    }
    text(&mut svg, "rate", (x(1000.0), BOTTOM + 38.0), "writes a second to one topic");
    for units in [4.0, 16.0, 64.0] {
        add(&mut svg, &format!("<line x1=\"{LEFT}\" y1=\"{0:.1}\" x2=\"{RIGHT}\" y2=\"{0:.1}\"/>", y(units)));
        text(&mut svg, "units", (LEFT - 28.0, y(units) + 4.0), &units.to_string());
    }
    // Lately's line is the last, so it lies above the others.
    for line in &lines {
        let class = if line.is_ours() { "ours" } else { "other" };
        let path: Vec<_> =
            line.drawn().map(|(rate, units)| format!("{:.1},{:.1}", x(rate), y(units))).collect();
        add(&mut svg, &format!("<path class=\"{class}\" d=\"M{}\"/>", path.join("L")));
        let (end, units) = (line.end, line.points.last().map_or(0.0, |(_, units)| *units));
        add(
            &mut svg,
            &format!("<circle class=\"{class}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"5\"/>", x(end), y(units)),
        );
        // The names of four designs stand above the line, and need its whole width.
        let (across, up) = if line.names.len() > 1 {
            (LEFT + 6.0, y(units) + 22.0)
        } else {
            (x(end) + 12.0, y(units) + 4.0)
        };
        text(&mut svg, class, (across, up), &line.names.join(", "));
    }
    svg + "</svg>\n"
}

impl Line {
    fn is_ours(&self) -> bool {
        self.names.iter().any(|name| name.starts_with("Lately"))
    }

    /// The points to draw, from the beginning of the axis to the end of the line.
    fn drawn(&self) -> impl Iterator<Item = (f64, f64)> {
        let at = |point: Option<&(f64, f64)>, rate| point.map(|(_, units)| (rate, *units));
        let (first, last) = (at(self.points.first(), RATES.0), at(self.points.last(), self.end));
        first.into_iter().chain(self.points.iter().copied()).chain(last)
    }

    fn words(&self) -> String {
        let prices: Vec<_> = self.points.iter().map(|(rate, units)| format!("{units} at {rate}")).collect();
        format!("{} writes a second, throttles at {}", prices.join(", "), self.end)
    }
}

/// The lines, one for all designs of the same prices and end.
fn lines(summary: &Table) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for row in &summary.rows {
        let name = row[0].to_string();
        if name.ends_with("first page of a process") {
            continue;
        }
        let number = |column| match summary.cell(&name, column) {
            Some(Cell::Measure(measure)) => Some(*measure),
            Some(Cell::Count(count)) => Some(*count as f64),
            _ => None,
        };
        let points: Vec<_> =
            MEASURED.iter().filter_map(|(rate, column)| Some((*rate, number(column)?))).collect();
        let end = number("throttles at").expect("each design throttles at a rate");
        let name = name.trim_end_matches(", every page").to_owned();
        match lines.iter_mut().find(|line| line.points == points && line.end == end) {
            Some(line) => line.names.push(name),
            None => lines.push(Line { names: vec![name], points, end }),
        }
    }
    lines
}

fn x(rate: f64) -> f64 {
    LEFT + share(rate, RATES) * (RIGHT - LEFT)
}

fn y(units: f64) -> f64 {
    BOTTOM - share(units, UNITS) * (BOTTOM - TOP)
}

/// The place of a value on a logarithmic axis, from 0 to 1.
fn share(value: f64, (low, high): (f64, f64)) -> f64 {
    (value / low).ln() / (high / low).ln()
}

fn add(svg: &mut String, element: &str) {
    writeln!(svg, "{element}").expect("writing to a string does not fail");
}

fn text(svg: &mut String, class: &str, (x, y): (f64, f64), shown: &str) {
    add(svg, &format!("<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{shown}</text>"));
}
