//! Bar charts as SVG. A chart is small enough to be read as text, follows the reader's light or dark colour scheme,
//! needs no script and no font, and has a description in words.

use std::fmt::Write;

/// A chart of panels side by side, which share their rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// The chart's title.
    pub title: String,
    /// The figures in words, for readers who cannot see the chart.
    pub description: String,
    /// The names of the rows.
    pub rows: Vec<String>,
    /// The number of the row that is highlighted.
    pub ours: usize,
    /// The panels.
    pub panels: Vec<Panel>,
}

/// The bars of one measure. Each panel has its own scale, which begins at zero.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// The measured quantity.
    pub title: String,
    /// A number and a text for each row. A row without a number has no bar.
    pub bars: Vec<(Option<f64>, String)>,
}

const WIDTH: f64 = 860.0;
const MARGIN: f64 = 12.0;
/// The width of the rows' names.
const NAMES: f64 = 178.0;
const GAP: f64 = 16.0;
/// The height above the first row, for the chart's title and the panels' titles.
const HEAD: f64 = 66.0;
const ROW: f64 = 24.0;
const BAR: f64 = 14.0;
/// The width beside the longest bar, for its text.
const TEXT: f64 = 78.0;

const STYLE: &str = "text{font:13px system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif;fill:#1f2328}\
    .title{font-size:15px;font-weight:600}.name,.unit{fill:#59636e}.ours{font-weight:600;fill:#1f2328}\
    rect{fill:#8c959f}rect.ours{fill:#1a7f37}line{stroke:#d1d9e0}\
    @media(prefers-color-scheme:dark){text{fill:#f0f6fc}.name,.unit{fill:#9198a1}.ours{fill:#f0f6fc}\
    rect{fill:#656c76}rect.ours{fill:#3fb950}line{stroke:#3d444d}}";

impl Chart {
    /// The chart as SVG.
    pub fn svg(&self) -> String {
        let Self { title, description, rows, panels, .. } = self;
        let height = HEAD + lengths(rows.len()) * ROW + MARGIN;
        let [title, description] = [title, description].map(|text| escaped(text));
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
             role=\"img\" aria-labelledby=\"title description\">\n\
             <title id=\"title\">{title}</title>\n<desc id=\"description\">{description}</desc>\n<style>{STYLE}</style>\n\
             <text class=\"title\" x=\"{MARGIN}\" y=\"26\">{title}</text>\n"
        );
        for (n, row) in rows.iter().enumerate() {
            let class = if n == self.ours { "ours" } else { "name" };
            text(&mut svg, class, MARGIN, middle(n), row);
        }
        let width =
            (WIDTH - 2.0 * MARGIN - NAMES - GAP * (lengths(panels.len()) - 1.0)) / lengths(panels.len());
        for (n, panel) in panels.iter().enumerate() {
            let x = MARGIN + NAMES + lengths(n) * (width + GAP);
            text(&mut svg, "unit", x, HEAD - 12.0, &panel.title);
            writeln!(
                svg,
                "<line x1=\"{x}\" y1=\"{}\" x2=\"{x}\" y2=\"{}\"/>",
                HEAD - 4.0,
                height - MARGIN + 4.0
            )
            .expect("writing to a string does not fail");
            self.bars(&mut svg, panel, x, width);
        }
        svg + "</svg>\n"
    }

    fn bars(&self, svg: &mut String, panel: &Panel, x: f64, width: f64) {
        let longest = panel.bars.iter().filter_map(|(value, _)| *value).fold(0.0, f64::max);
        for (n, (value, shown)) in panel.bars.iter().enumerate() {
            let class = if n == self.ours { "ours" } else { "bar" };
            let length =
                value.map_or(0.0, |value| if longest > 0.0 { value / longest * (width - TEXT) } else { 0.0 });
            if value.is_some_and(|value| value > 0.0) {
                let (length, y) = (length.max(1.0), middle(n) - BAR / 2.0 - 4.0);
                writeln!(svg, "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{length:.1}\" height=\"{BAR}\" rx=\"2\"/>")
                    .expect("writing to a string does not fail");
            }
            let class = if n == self.ours { "ours" } else { "value" };
            text(svg, class, x + length + 6.0, middle(n), shown);
        }
    }
}

/// The vertical position of a row's text.
fn middle(row: usize) -> f64 {
    HEAD + lengths(row) * ROW + ROW / 2.0 + 4.0
}

/// A small count as a length.
fn lengths(count: usize) -> f64 {
    f64::from(u16::try_from(count).expect("a picture has few rows"))
}

fn text(svg: &mut String, class: &str, x: f64, y: f64, shown: &str) {
    let shown = escaped(shown);
    writeln!(svg, "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y}\">{shown}</text>")
        .expect("writing to a string does not fail");
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use quick_xml::Reader;
    use quick_xml::events::Event;

    use super::*;

    fn chart() -> Chart {
        let bars =
            vec![(Some(3.5), "3.5".to_owned()), (Some(0.0), "0".to_owned()), (None, "no answer".to_owned())];
        Chart {
            title: "Units < \"here\" & there".to_owned(),
            description: "The price of each design.".to_owned(),
            rows: ["others", "Lately", "none"].map(str::to_owned).to_vec(),
            ours: 1,
            panels: vec![Panel { title: "read units".to_owned(), bars }],
        }
    }

    /// The names of the elements, in their order. Fails if the XML is not well formed.
    fn elements(svg: &str) -> Vec<String> {
        let mut reader = Reader::from_str(svg);
        let mut names = Vec::new();
        loop {
            match reader.read_event().unwrap() {
                Event::Start(element) | Event::Empty(element) => {
                    element.attributes().for_each(|attribute| drop(attribute.unwrap()));
                    names.push(String::from_utf8(element.name().as_ref().to_vec()).unwrap());
                }
                Event::Eof => return names,
                _ => {}
            }
        }
    }

    #[test]
    fn a_chart_is_well_formed_and_has_title_and_description() {
        let names = elements(&chart().svg());
        assert_eq!(names[..4], ["svg", "title", "desc", "style"]);
        assert!(!names.iter().any(|name| name == "script"));
        assert_eq!(
            names.iter().filter(|name| *name == "rect").count(),
            1,
            "rows with zero or without a number have no bar"
        );
    }

    #[test]
    fn bars_and_their_texts_stay_within_the_picture() {
        let svg = chart().svg();
        let number = |line: &str, name: &str| -> f64 {
            line.split_once(&format!(" {name}=\"")).unwrap().1.split_once('"').unwrap().0.parse().unwrap()
        };
        for bar in svg.lines().filter(|line| line.starts_with("<rect")) {
            assert!(number(bar, "x") + number(bar, "width") <= WIDTH - TEXT);
        }
    }
}
