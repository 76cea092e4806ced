//! What a row is, which of its cases are tried, and the table.

use crate::random::Random;
use outlive_testkit::world::World;
use std::fmt::Display;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// How many cases run at the same time. It is more than the number of processors, because cases mostly wait for
/// processes.
const AT_ONCE: usize = 4;

/// One kind of fault.
pub struct Row {
    /// Written `family: name`.
    pub name: &'static str,
    /// What must hold despite the fault.
    pub promise: &'static str,
    pub run: fn(&Context) -> Tried,
}

/// The result of a row.
#[derive(Debug, Default)]
pub struct Tried {
    pub count: usize,
    /// A full description of each loss.
    pub losses: Vec<String>,
    /// A remark for the table.
    pub note: String,
}

impl Tried {
    /// A row that was lost as one case, or before its cases began.
    pub fn lost(loss: String) -> Tried {
        Tried {
            count: 1,
            losses: vec![loss],
            note: String::new(),
        }
    }

    /// `Some` if this is not root, because then nothing can be tried.
    pub fn unless_root() -> Option<Tried> {
        let is_root = outlive_sys::process::own::user_id() == 0;
        (!is_root).then(|| Tried::default().without(&["it needs root".to_owned()]))
    }

    /// Notes the cases that this machine could not try. If everything must be tried (`CI=true`), each of them is a
    /// loss.
    pub fn without(mut self, missing: &[String]) -> Tried {
        if missing.is_empty() {
            return self;
        }
        if std::env::var("CI").is_ok_and(|value| value == "true") {
            let losses = missing.iter().map(|why| format!("not run: {why}"));
            self.losses.extend(losses);
        }
        self.note = format!("NOT RUN: {}", missing.join("; "));
        self
    }
}

/// The options of this run.
#[derive(Debug)]
pub struct Context {
    /// The directory of `outlive` and `outlive-keeper`.
    pub programs: PathBuf,
    pub is_long: bool,
    only: Option<String>,
    /// If set, only the cases with this name are tried.
    case: Option<String>,
    pub seed: u64,
}

impl Context {
    pub fn of(arguments: &[String]) -> Option<Context> {
        let (programs, mut rest) = arguments.split_first()?;
        let since = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
        let mut context = Context {
            programs: PathBuf::from(programs),
            is_long: false,
            only: None,
            case: None,
            seed: since.as_secs() % 1_000_000,
        };
        while let [option, others @ ..] = rest {
            rest = others;
            if option == "--long" {
                context.is_long = true;
                continue;
            }
            let [value, others @ ..] = rest else {
                return None;
            };
            rest = others;
            match option.as_str() {
                "--only" => context.only = Some(value.clone()),
                "--case" => context.case = Some(value.clone()),
                "--seed" => context.seed = value.parse().ok()?,
                _ => return None,
            }
        }
        context.programs.is_dir().then_some(context)
    }

    /// Makes a scratch home that uses the programs under test.
    pub fn world(&self) -> Result<World, String> {
        World::with_programs(&self.programs)
    }

    /// Tries every case in the long form, and `few` random ones in the short form, several at a time.
    pub fn try_cases<C: Display + Sync>(
        &self,
        cases: Vec<C>,
        few: usize,
        check: impl Fn(&C) -> Result<(), String> + Sync,
    ) -> Tried {
        self.try_cases_at_once(AT_ONCE, cases, few, check)
    }

    /// Like [`Context::try_cases`], with this many cases at a time.
    pub fn try_cases_at_once<C: Display + Sync>(
        &self,
        at_once: usize,
        mut cases: Vec<C>,
        few: usize,
        check: impl Fn(&C) -> Result<(), String> + Sync,
    ) -> Tried {
        if let Some(called) = &self.case {
            cases.retain(|case| case.to_string().contains(called));
        } else if !self.is_long {
            Random::new(self.seed).shuffle(&mut cases);
            cases.truncate(few);
        }
        let next = AtomicUsize::new(0);
        let losses = Mutex::new(Vec::new());
        let work = || {
            while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                let Err(loss) = check(case) else {
                    continue;
                };
                // In the long form the table may be hours away, so losses are printed at once.
                if self.is_long {
                    eprintln!("LOSS {case}: {}", loss.lines().next().unwrap_or_default());
                }
                if let Ok(mut losses) = losses.lock() {
                    losses.push(format!("{case}: {loss}"));
                }
            }
        };
        thread::scope(|scope| (0..at_once).for_each(|_| drop(scope.spawn(work))));
        Tried {
            count: cases.len(),
            losses: losses.into_inner().unwrap_or_default(),
            note: String::new(),
        }
    }

    fn is_meant(&self, row: &Row) -> bool {
        self.only
            .as_ref()
            .is_none_or(|only| row.name.contains(only))
    }
}

/// Runs the selected rows and prints the table. Returns whether there was no loss.
pub fn run(context: &Context, rows: &[Row]) -> bool {
    let form = match context.is_long {
        true => "every case",
        false => "some cases of each",
    };
    println!("{form}, seed {}", context.seed);
    let meant: Vec<&Row> = rows.iter().filter(|row| context.is_meant(row)).collect();
    let width = meant.iter().map(|row| row.name.chars().count()).max();
    let width = width.unwrap_or_default();
    println!("{:width$} | tried | losses |    s | promise", "fault");
    let mut losses = Vec::new();
    for row in &meant {
        let start = Instant::now();
        let tried = (row.run)(context);
        println!(
            "{:width$} | {:5} | {:6} | {:4} | {}",
            row.name,
            tried.count,
            tried.losses.len(),
            start.elapsed().as_secs(),
            row.promise
        );
        if !tried.note.is_empty() {
            println!("{:width$} | {}", "", tried.note);
        }
        losses.extend(tried.losses.into_iter().map(|loss| (row.name, loss)));
    }
    for (name, loss) in &losses {
        println!("\nLOSS in {name}\n  {}", loss.replace('\n', "\n  "));
    }
    if meant.is_empty() {
        println!("no row is called so");
    }
    losses.is_empty() && !meant.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context(words: &[&str]) -> Option<Context> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        Context::of(&words)
    }

    #[test]
    fn what_is_asked_for_is_understood_or_refused() {
        let asked = context(&["/", "--long", "--only", "kill", "--seed", "7"]).unwrap();
        assert_eq!(asked.case, None);
        assert!(asked.is_long);
        assert_eq!((asked.only.as_deref(), asked.seed), (Some("kill"), 7));
        for wrong in [&["/", "--seed"][..], &["/", "--other", "x"], &[], &["/no"]] {
            assert!(context(wrong).is_none(), "{wrong:?}");
        }
    }

    #[test]
    fn the_short_form_tries_few_and_tells_each_loss() {
        let is_odd = |case: &u32| match case % 2 {
            0 => Ok(()),
            _ => Err("odd".to_owned()),
        };
        let short = context(&["/", "--seed", "1"]).unwrap();
        assert_eq!(short.try_cases((0..40).collect(), 10, is_odd).count, 10);
        let long = context(&["/", "--long"]).unwrap();
        let tried = long.try_cases((0..40).collect(), 10, is_odd);
        assert_eq!((tried.count, tried.losses.len()), (40, 20));
        assert!(tried.losses.contains(&"7: odd".to_owned()));
        let one = context(&["/", "--case", "17"]).unwrap();
        assert_eq!(one.try_cases((0..40).collect(), 10, is_odd).count, 1);
    }
}
