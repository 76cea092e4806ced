//! `wait` and `log --follow`: blocking, without polling, through everything.
