//! The bytes of a job's files: its output, and what tells lines and streams of it.

use super::Far;
use super::failure;
use super::stream::Stream;
use crate::error::Error;
use outlive_core::far::FarFile;
use outlive_core::{JobDir, JobId, OutputFiles, layout};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// The bytes of one read, which are one frame.
const PIECE: usize = outlive_core::wire::MAX_PAYLOAD;

/// Sends a range of a file, up to its present end at most.
pub fn serve(far: &Far, stream: &Stream, job: &JobId, which: FarFile, range: (u64, Option<u64>)) {
    match send(far, stream, job, which, range) {
        Ok(()) => stream.end(None),
        Err(error) => stream.end(Some(failure(&error))),
    }
}

fn send(
    far: &Far,
    stream: &Stream,
    job: &JobId,
    which: FarFile,
    (from, to): (u64, Option<u64>),
) -> Result<(), Error> {
    far.own(job)?;
    let dir = far.outlive.job_dir(job);
    let path = path(&dir, which);
    let failed = || Error::io("cannot read", &path);
    let Some(source) = Source::open(far, job, which).map_err(failed())? else {
        return Ok(());
    };
    let size = source.size().map_err(failed())?;
    let end = to.map_or(size, |to| to.min(size));
    let (mut at, mut buffer) = (from, vec![0; PIECE]);
    while at < end {
        let most = (end - at).min(PIECE as u64) as usize;
        match source.read_at(&mut buffer[..most], at).map_err(failed())? {
            // Somebody has cut it short.
            0 => return Ok(()),
            count => {
                if stream.send(&buffer[..count]).is_err() {
                    return Ok(());
                }
                at += count as u64;
            }
        }
    }
    Ok(())
}

fn path(dir: &JobDir, which: FarFile) -> PathBuf {
    match which {
        FarFile::Output => dir.output(),
        FarFile::Index => dir.index(),
        FarFile::Streams => dir.streams(),
    }
}

enum Source {
    Output(OutputFiles),
    File(File),
}

impl Source {
    /// `None` if there is no such file yet.
    fn open(far: &Far, job: &JobId, which: FarFile) -> io::Result<Option<Source>> {
        let dir = far.outlive.job_dir(job);
        if which == FarFile::Output {
            let bound = dir.read_spec().map_err(io::Error::other)?.bound();
            return Ok(OutputFiles::open(&dir, bound)?.map(Source::Output));
        }
        match layout::open(&path(&dir, which)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            file => Ok(Some(Source::File(file?))),
        }
    }

    fn size(&self) -> io::Result<u64> {
        match self {
            Source::Output(files) => files.size(),
            Source::File(file) => Ok(file.metadata()?.len()),
        }
    }

    fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<usize> {
        match self {
            Source::Output(files) => files.read_at(buffer, at),
            Source::File(file) => file.read_at(buffer, at),
        }
    }
}
