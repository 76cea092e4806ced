//! One run of the harness: its programs, directories and number of samples.

use crate::BenchError;
use crate::contender::{Contender, Entry};
use crate::processes;
use std::cell::Cell;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

#[derive(Debug)]
pub struct Bench {
    pub outlive: PathBuf,
    /// The directory of `pueue` and `pueued`.
    pub pueue: Option<PathBuf>,
    /// An empty directory on a real disk, which is removed at the end.
    pub work: PathBuf,
    /// This program, which is also the program of its jobs.
    pub me: PathBuf,
    pub short: bool,
    pub taken: Cell<usize>,
}

/// The results of one contender: samples, or why there are none.
pub type Samples = (&'static str, Result<Vec<f64>, BenchError>);

impl Bench {
    /// Selects a number for the full form or the short one.
    pub fn pick<T>(&self, whole: T, short: T) -> T {
        match self.short {
            true => short,
            false => whole,
        }
    }

    /// A new empty directory with a short name, because sockets are created in it.
    pub fn directory(&self) -> Result<PathBuf, BenchError> {
        self.taken.set(self.taken.get() + 1);
        let path = self.work.join(self.taken.get().to_string());
        fs::create_dir(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(path)
    }

    pub fn enter(&self, entry: &Entry) -> Result<Box<dyn Contender>, BenchError> {
        (entry.make)(self, self.directory()?)
    }

    /// Ends everything that was started and removes its files.
    pub fn clear(&self) {
        processes::sweep();
        let entries = fs::read_dir(&self.work).into_iter().flatten().flatten();
        for entry in entries {
            // What cannot be removed is removed with the whole directory later, which reports an error.
            let _ = fs::remove_dir_all(entry.path());
        }
    }

    /// Takes one sample of each contender in turn, this many times, so that noise affects all equally.
    /// A contender that fails is out, with its reason. A contender that is very slow stops early.
    pub fn rounds(
        &self,
        between: Between,
        entries: impl IntoIterator<Item = &'static Entry>,
        rounds: usize,
        mut sample: impl FnMut(&mut dyn Contender) -> Result<f64, BenchError>,
    ) -> Vec<Samples> {
        let patience = Duration::from_secs(self.pick(40, 10));
        let mut field: Vec<Turn> = entries.into_iter().map(Turn::of).collect();
        for _ in 0..rounds {
            for turn in field.iter_mut().filter(|turn| turn.spent < patience) {
                turn.take(self, &mut sample);
                if between != Between::Kept {
                    turn.contender = None;
                }
                match between {
                    Between::Kept => {}
                    Between::Anew => self.clear(),
                    Between::Beside => processes::sweep(),
                }
            }
        }
        self.clear();
        field
            .into_iter()
            .map(|turn| (turn.entry.name, turn.samples))
            .collect()
    }
}

/// What happens to contenders between two samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Between {
    /// They stay, with everything they have done.
    Kept,
    /// They are set up again: nothing of one sample exists in the next.
    Anew,
    /// They are set up again beside their old files, which are removed at the end: ext4 creates files
    /// slowly near thousands of files that were just removed.
    Beside,
}

/// One contender in the rounds.
struct Turn {
    entry: &'static Entry,
    contender: Option<Box<dyn Contender>>,
    samples: Result<Vec<f64>, BenchError>,
    spent: Duration,
}

impl Turn {
    fn of(entry: &'static Entry) -> Turn {
        Turn {
            entry,
            contender: None,
            samples: Ok(Vec::new()),
            spent: Duration::ZERO,
        }
    }

    fn take(
        &mut self,
        bench: &Bench,
        sample: &mut impl FnMut(&mut dyn Contender) -> Result<f64, BenchError>,
    ) {
        let Ok(samples) = &mut self.samples else {
            return;
        };
        let contender = match self.contender.take() {
            Some(contender) => Ok(contender),
            None => bench.enter(self.entry),
        };
        let start = Instant::now();
        match contender.and_then(|mut one| Ok((sample(&mut *one)?, one))) {
            Ok((value, contender)) => {
                samples.push(value);
                self.contender = Some(contender);
            }
            Err(why) => self.samples = Err(why),
        }
        self.spent += start.elapsed();
    }
}

pub fn median(samples: &[f64]) -> f64 {
    quantile(samples, 0.5)
}

/// The value below which this share of the samples lies.
pub fn quantile(samples: &[f64], share: f64) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        count => sorted[((count - 1) as f64 * share).round() as usize],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_one_of_the_samples_and_of_none_there_is_none() {
        let samples = [9.0, 1.0, 5.0, 3.0, 7.0];
        assert_eq!(median(&samples), 5.0);
        assert_eq!(quantile(&samples, 0.25), 3.0);
        assert_eq!(quantile(&samples, 1.0), 9.0);
        assert!(median(&[]).is_nan());
    }
}
