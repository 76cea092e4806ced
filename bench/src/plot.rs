//! Draws how cost grows with the number of jobs.
//!
//! There is one panel per measure, with logarithmic axes, and one line per contender, with its name at
//! the right end.

use crate::report::Growth;
use std::fmt::Write;

const WIDTH: f64 = 1180.0;
const PANEL: f64 = 340.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 900.0;
/// The distance between two names.
const LEADING: f64 = 17.0;
const OURS: &str = "#c0392b";
const COLOURS: [&str; 14] = [
    "#1f77b4", "#2ca02c", "#9467bd", "#8c564b", "#e377c2", "#17becf", "#bcbd22", "#ff7f0e",
    "#3b5998", "#556b2f", "#708090", "#b8860b", "#6a3d9a", "#00695c",
];

pub fn svg(growth: &[Growth]) -> String {
    let mut panels: Vec<&str> = Vec::new();
    let mut names: Vec<&str> = Vec::new();
    for one in growth {
        if !panels.contains(&one.what) {
            panels.push(one.what);
        }
        if one.name != "outlive" && !names.contains(&one.name) {
            names.push(one.name);
        }
    }
    let height = PANEL * panels.len() as f64;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"sans-serif\" font-size=\"13\">\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"white\"/>\n"
    );
    for (at, what) in panels.iter().enumerate() {
        let lines: Vec<&Growth> = growth.iter().filter(|one| one.what == *what).collect();
        panel(&mut text, at as f64 * PANEL, what, &lines, &names);
    }
    text.push_str("</svg>\n");
    text
}

/// Maps the values of one panel to positions in the picture.
struct Paper {
    top: f64,
    bottom: f64,
    least: f64,
    most: f64,
    most_jobs: f64,
}

impl Paper {
    fn x(&self, jobs: f64) -> f64 {
        LEFT + (RIGHT - LEFT) * jobs.log10() / self.most_jobs.log10()
    }

    fn y(&self, value: f64) -> f64 {
        let share = (value.log10() - self.least) / (self.most - self.least);
        self.bottom - (self.bottom - self.top) * share
    }
}

fn panel(text: &mut String, above: f64, what: &str, lines: &[&Growth], names: &[&str]) {
    let values = || lines.iter().flat_map(|line| &line.points);
    let power = |value: f64| value.log10();
    let least = values()
        .map(|point| power(point.1))
        .fold(f64::INFINITY, f64::min);
    let most = values()
        .map(|point| power(point.1))
        .fold(f64::NEG_INFINITY, f64::max);
    let paper = Paper {
        top: above + 40.0,
        bottom: above + PANEL - 40.0,
        least: least.floor(),
        most: most.ceil().max(least.floor() + 1.0),
        most_jobs: values().map(|point| point.0).fold(10.0, f64::max),
    };
    axes(text, &paper, what, lines);
    let mut ends: Vec<(f64, &str, &str)> = Vec::new();
    for line in lines {
        let colour = match names.iter().position(|name| *name == line.name) {
            Some(at) => COLOURS[at % COLOURS.len()],
            None => OURS,
        };
        let thick = if colour == OURS { 3.5 } else { 1.6 };
        let points: Vec<String> = line
            .points
            .iter()
            .map(|(jobs, value)| format!("{:.1},{:.1}", paper.x(*jobs), paper.y(*value)))
            .collect();
        let _ = writeln!(
            text,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{thick}\"/>",
            points.join(" ")
        );
        if let Some((_, last)) = line.points.last() {
            ends.push((paper.y(*last), line.name, colour));
        }
    }
    label(text, &paper, ends);
}

fn axes(text: &mut String, paper: &Paper, what: &str, lines: &[&Growth]) {
    let (top, bottom) = (paper.top, paper.bottom);
    let _ = writeln!(
        text,
        "<text x=\"{LEFT}\" y=\"{}\" font-size=\"16\" font-weight=\"bold\">{what}</text>",
        top - 15.0
    );
    for power in paper.least as i32..=paper.most as i32 {
        let value = 10f64.powi(power);
        let y = paper.y(value);
        let _ = writeln!(
            text,
            "<line x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"#ddd\"/>\
             <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{value}</text>",
            LEFT - 8.0,
            y + 4.0
        );
    }
    let longest = lines.iter().max_by_key(|line| line.points.len());
    for (jobs, _) in longest.iter().flat_map(|line| &line.points) {
        let x = paper.x(*jobs);
        let words = match *jobs == 1.0 {
            true => "1 job".to_owned(),
            false => jobs.to_string(),
        };
        let _ = writeln!(
            text,
            "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{top}\" y2=\"{bottom}\" stroke=\"#eee\"/>\
             <text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{words}</text>",
            bottom + 18.0
        );
    }
}

/// Puts the names beside the ends of their lines, and moves them apart if they are too close.
fn label(text: &mut String, paper: &Paper, mut ends: Vec<(f64, &str, &str)>) {
    ends.sort_by(|one, other| one.0.total_cmp(&other.0));
    let room = paper.bottom - LEADING * ends.len() as f64;
    let mut free = f64::NEG_INFINITY;
    for (at, (y, name, colour)) in ends.iter().enumerate() {
        let place = y.max(free).min(room + LEADING * (at + 1) as f64);
        free = place + LEADING;
        let weight = if *colour == OURS { "bold" } else { "normal" };
        let name = name.replace('&', "&amp;");
        let _ = writeln!(
            text,
            "<line x1=\"{RIGHT}\" x2=\"{}\" y1=\"{y:.1}\" y2=\"{place:.1}\" stroke=\"{colour}\" \
             stroke-width=\"0.6\"/>\
             <text x=\"{}\" y=\"{:.1}\" fill=\"{colour}\" font-weight=\"{weight}\">{name}</text>",
            RIGHT + 36.0,
            RIGHT + 40.0,
            place + 4.0
        );
    }
}
