//! The record of who was told accepts arbitrary bytes. An incomplete line at the end changes nothing, a
//! final state stays whatever follows, and of two consumers that claim an event only one gets it.

use crate::read;
use outlive_core::event::Moment;
use outlive_core::process::BootId;
use outlive_core::told::{
    BootMoment, Due, Line, Note, Rules, Told, nobody_has_lost, nobody_is_gone,
};
use outlive_core::{BootTime, Millis, WallTime};

fn at(boot_ms: u64) -> BootMoment {
    let at = Moment {
        wall: WallTime::from_ms(boot_ms),
        boot: BootTime::from_ms(boot_ms),
    };
    BootMoment {
        boot: BootId("b".to_owned()),
        at,
    }
}

fn claim(by: &str, boot_ms: u64, seq: u64) -> Line {
    Line {
        when: at(boot_ms),
        of: None,
        seqs: vec![seq],
        note: Note::Claimed {
            by: by.to_owned(),
            length: Millis(1000),
            most: u32::MAX,
            agent: None,
            instead_of: Vec::new(),
        },
    }
}

pub fn check(bytes: &[u8]) {
    let Some((now, seq, bytes)) = read::<(u64, u64, &[u8])>(bytes) else {
        return;
    };
    let told = Told::parse(bytes, None, &nobody_is_gone);
    let torn = [bytes, b"\n{\"boot\":\"b\",\"wall_ms\":1,\"bo"].concat();
    assert_eq!(Told::parse(&torn, None, &nobody_is_gone), told);

    let twice = Told::parse(&[bytes, b"\n", bytes].concat(), None, &nobody_is_gone);
    assert!(!told.is_settled(seq) || twice.is_settled(seq));

    let due = told.due(seq, &at(0), &at(now), &Rules::default(), &nobody_has_lost);
    assert_eq!(told.is_settled(seq), due == Due::Settled);
    let mut after = told.clone();
    after.apply(&claim("first", now, seq), &nobody_is_gone);
    after.apply(&claim("second", now, seq), &nobody_is_gone);
    let holder = after.holder(seq, &at(now));
    assert_ne!(
        holder,
        Some("second"),
        "two have it, or the first was passed over"
    );
    if due == Due::Now && now < u64::MAX {
        assert_eq!(holder, Some("first"));
    }
}
