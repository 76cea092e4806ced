//! Setups of older versions, which kept no journal.
//!
//! Such a setup is entered into the journal if every file of the agent holds exactly what that version wrote.
//! Otherwise nobody can tell it from what a person has written, and it is left alone.

use super::Plan;
use crate::agent::Agent;
use crate::error::Error;
use crate::setup::Scope;
use crate::setup::file;
use crate::setup::journal::{WrittenFile, WrittenPiece};
use crate::setup::older;
use crate::setup::piece::Piece;
use crate::setup::places::{Places, Target};
use std::path::PathBuf;

/// A file of an older setup: its real path, its backup and what is in it.
struct Older {
    real: PathBuf,
    backup: PathBuf,
    piece: Piece,
}

pub(super) fn adopt(places: &Places, scope: &Scope, plan: &mut Plan) -> Result<(), Error> {
    for agent in Agent::all() {
        if !older::knew(agent) || plan.journal.after.knows(agent, scope) {
            continue;
        }
        let targets = places.targets(agent, scope, false);
        let programs = ["outlive", places.own_program()];
        let found = programs
            .iter()
            .find_map(|program| find(&targets, agent, program));
        for older in found.into_iter().flatten() {
            enter(plan, agent, scope, older)?;
        }
    }
    Ok(())
}

/// The files of an older setup that starts this program, if all of them are there unchanged.
fn find(targets: &[Target], agent: Agent, program: &str) -> Option<Vec<Older>> {
    let mut found = Vec::new();
    for target in targets {
        let Ok(real) = file::real(&target.base, &target.path) else {
            return None;
        };
        let Ok(Some(contents)) = file::read(&real.path) else {
            return None;
        };
        let pieces = older::pieces(&target.piece, agent, program);
        let is_in = |piece: &Piece| piece.is_in(&contents.text).is_ok_and(|is_in| is_in);
        let piece = pieces.into_iter().find(is_in)?;
        found.push(Older {
            real: real.path,
            backup: file::backup(&target.path),
            piece,
        });
    }
    Some(found).filter(|found| !found.is_empty())
}

fn enter(plan: &mut Plan, agent: Agent, scope: &Scope, older: Older) -> Result<(), Error> {
    let journal = &mut plan.journal.after;
    let piece = WrittenPiece {
        agent,
        scope: scope.clone(),
        piece: older.piece,
    };
    if let Some(file) = journal
        .files
        .iter_mut()
        .find(|file| file.real == older.real)
    {
        file.pieces.push(piece);
        return Ok(());
    }
    let backup = file::read(&older.backup)?;
    // That version made a file if there was no copy of an earlier one.
    journal.files.push(WrittenFile {
        real: older.real,
        backup: backup.is_some().then_some(older.backup),
        before: backup.map(|backup| backup.text),
        pieces: vec![piece],
    });
    Ok(())
}
