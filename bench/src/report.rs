//! Writes the report: tables as Markdown and as JSON, and which targets were met.

use serde_json::{Map, Value, json};
use std::fmt::Write;

/// How to repeat the run and how to read the report.
const PREFACE: &str = include_str!("preface.md");

#[derive(Clone, Debug)]
pub enum Cell {
    Text(String),
    /// A number, and how many decimal places are shown.
    Number(f64, usize),
}

impl Cell {
    pub fn text(text: impl Into<String>) -> Cell {
        Cell::Text(text.into())
    }

    fn markdown(&self) -> String {
        match self {
            Cell::Text(text) => text.replace('|', "\\|"),
            Cell::Number(number, places) => format!("{number:.places$}"),
        }
    }

    fn json(&self) -> Value {
        match self {
            Cell::Text(text) => json!(text),
            Cell::Number(number, _) => json!(number),
        }
    }
}

#[derive(Clone, Debug)]
pub struct Table {
    pub title: String,
    pub head: Vec<&'static str>,
    pub rows: Vec<Vec<Cell>>,
    /// The contenders without a row, and why.
    missing: Vec<(&'static str, String)>,
}

impl Table {
    pub fn new(title: impl Into<String>, head: &[&'static str]) -> Table {
        Table {
            title: title.into(),
            head: head.to_vec(),
            rows: Vec::new(),
            missing: Vec::new(),
        }
    }

    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(cells.into_iter().collect());
    }

    pub fn missing(&mut self, name: &'static str, why: &str) {
        self.missing.push((name, why.replace('\n', " ")));
    }

    /// The reasons for missing rows, each with the contenders that share it.
    fn reasons(&self) -> Vec<(&str, Vec<&str>)> {
        let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
        for (name, why) in &self.missing {
            match reasons.iter_mut().find(|(one, _)| one == why) {
                Some((_, names)) => names.push(name),
                None => reasons.push((why, vec![name])),
            }
        }
        reasons
    }

    fn markdown(&self, text: &mut String) {
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let _ = writeln!(text, "**{}**\n", self.title);
        text.push_str(&line(
            self.head.iter().map(|name| (*name).to_owned()).collect(),
        ));
        text.push_str(&format!("|{}\n", "---|".repeat(self.head.len())));
        for row in &self.rows {
            let mut cells: Vec<String> = row.iter().map(Cell::markdown).collect();
            cells.resize(self.head.len(), String::new());
            text.push_str(&line(cells));
        }
        for (why, names) in self.reasons() {
            let mut cells = vec![names.join(", "), not_measured(why)];
            cells.resize(self.head.len(), String::new());
            text.push_str(&line(cells));
        }
        text.push('\n');
    }

    fn json(&self) -> Value {
        let rows: Vec<Value> = self
            .rows
            .iter()
            .map(|row| {
                let cells = self.head.iter().zip(row);
                let named = cells.map(|(name, cell)| ((*name).to_owned(), cell.json()));
                Value::Object(named.collect::<Map<_, _>>())
            })
            .collect();
        let missing: Vec<Value> = self
            .missing
            .iter()
            .map(|(name, why)| json!({"": name, "not measured": why}))
            .collect();
        json!({"title": self.title, "rows": rows, "missing": missing})
    }
}

pub fn not_measured(why: &str) -> String {
    format!("not measured: {}", why.replace('\n', " "))
}

/// One target, and whether it was met.
#[derive(Clone, Debug)]
pub struct Verdict {
    pub measure: &'static str,
    pub target: &'static str,
    pub got: String,
    pub met: bool,
}

/// The results of one measure.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    pub tables: Vec<Table>,
    pub verdicts: Vec<Verdict>,
    pub notes: Vec<String>,
    pub growth: Vec<Growth>,
}

/// How one cost of one contender grows with the number of jobs.
#[derive(Clone, Debug)]
pub struct Growth {
    pub what: &'static str,
    pub name: &'static str,
    /// The number of jobs, and the cost.
    pub points: Vec<(f64, f64)>,
}

impl Measured {
    fn markdown(&self, text: &mut String) {
        self.tables.iter().for_each(|table| table.markdown(text));
        for note in &self.notes {
            let _ = writeln!(text, "{note}\n");
        }
    }

    pub fn verdict(&mut self, measure: &'static str, target: &'static str, got: String, met: bool) {
        self.verdicts.push(Verdict {
            measure,
            target,
            got,
            met,
        });
    }
}

/// One measure in the report, or an error if it failed as a whole.
#[derive(Debug)]
pub struct Section {
    pub name: &'static str,
    pub about: &'static str,
    pub measured: Result<Measured, String>,
}

#[derive(Debug)]
pub struct Report {
    pub machine: Vec<String>,
    pub sections: Vec<Section>,
}

impl Report {
    fn measured(&self) -> impl Iterator<Item = &Measured> {
        let sections = self.sections.iter();
        sections.filter_map(|section| section.measured.as_ref().ok())
    }

    fn verdicts(&self) -> impl Iterator<Item = &Verdict> {
        self.measured().flat_map(|measured| &measured.verdicts)
    }

    pub fn markdown(&self) -> String {
        let mut text = PREFACE.to_owned();
        text.push_str("## This run\n\n");
        for line in &self.machine {
            let _ = writeln!(text, "- {line}");
        }
        text.push_str("\n| measure | target | here | met |\n|---|---|---|---|\n");
        for one in self.verdicts() {
            let met = if one.met { "yes" } else { "**no**" };
            let _ = writeln!(
                text,
                "| {} | {} | {} | {met} |",
                one.measure, one.target, one.got
            );
        }
        text.push('\n');
        for section in &self.sections {
            let _ = writeln!(text, "## {}: {}\n", section.name, section.about);
            match &section.measured {
                Ok(measured) => measured.markdown(&mut text),
                Err(why) => {
                    let _ = writeln!(text, "{}\n", not_measured(why));
                }
            }
        }
        text
    }

    pub fn json(&self) -> Value {
        let verdicts: Vec<Value> = self
            .verdicts()
            .map(|one| {
                json!({"measure": one.measure, "target": one.target, "got": one.got, "met": one.met})
            })
            .collect();
        let measures = self.sections.iter().map(|section| {
            let value = match &section.measured {
                Ok(one) => json!(one.tables.iter().map(Table::json).collect::<Vec<_>>()),
                Err(why) => json!(not_measured(why)),
            };
            (section.name.to_owned(), value)
        });
        let growth: Vec<Value> = self
            .growth()
            .iter()
            .map(|one| json!({"what": one.what, "name": one.name, "points": one.points}))
            .collect();
        json!({
            "machine": self.machine,
            "targets": verdicts,
            "measures": measures.collect::<Map<_, _>>(),
            "growth": growth,
        })
    }

    pub fn growth(&self) -> Vec<Growth> {
        self.measured().flat_map(|one| one.growth.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_for_one_reason_is_one_row_and_no_row_is_short() {
        let mut table = Table::new("title", &["", "ms", "x floor"]);
        table.row([Cell::text("a | b"), Cell::Number(1.0, 2)]);
        for (name, why) in [("c", "gone"), ("d", "no\nlist"), ("e", "gone")] {
            table.missing(name, why);
        }
        let mut text = String::new();
        table.markdown(&mut text);
        let rows: Vec<&str> = text.lines().skip(4).collect();
        assert_eq!(
            rows,
            [
                "| a \\| b | 1.00 |  |",
                "| c, e | not measured: gone |  |",
                "| d | not measured: no list |  |",
                "",
            ]
        );
    }
}
