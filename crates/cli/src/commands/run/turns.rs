//! The options that say what a job waits for before it starts.

use crate::context::{Context, label};
use crate::exit::Failure;
use outlive::api::waiting::{After, Needs, Queue};
use outlive::verbs::run::Run;

/// What a job waits for before it starts.
#[derive(Debug, Default, clap::Args)]
pub struct Turns {
    /// Start the command when no other job holds this lock, and hold it while the command runs
    #[arg(long, value_name = "NAME")]
    lock: Option<String>,
    /// Start the command when its turn in this queue comes. At most N jobs of the queue run at once, first come first
    /// served [default: as many as before, or 1]
    #[arg(long, value_name = "NAME[:N]", value_parser = Queue::parse)]
    queue: Option<Queue>,
    /// Start the command after this job has ended; with `:success`, only if it succeeded; repeatable
    #[arg(long, value_name = "ID[:success]")]
    after: Vec<String>,
}

impl Turns {
    /// Adds them to a request.
    pub fn ask(self, context: &Context, run: &mut Run) -> Result<(), Failure> {
        run.lock = label("the lock", self.lock.as_deref())?;
        run.queue = self.queue;
        for text in &self.after {
            let (job, needs) = Needs::split(text).map_err(outlive::Error::from)?;
            let job = context.find(job)?;
            run.after.push(After { job, needs });
        }
        Ok(())
    }
}
