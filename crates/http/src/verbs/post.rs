//! `post`

use super::{Call, Needs, Verb};
use crate::failure::Refused;
use outlive::verbs::post::{self, Posted};
use outlive_api::reply::PostReply;
use outlive_api::request::NewPost;

pub struct Post;

impl Verb for Post {
    type Request = NewPost;
    type Reply = PostReply;
    const NAME: &'static str = "post";
    const ABOUT: &'static str = "Put work that was finished elsewhere into the inbox of a session.";
    const NEEDS: Needs = Needs::Owner;

    fn call(call: &Call, asked: NewPost) -> Result<PostReply, Refused> {
        if !asked.data.is_object() {
            return Err(Refused::bad_input("\"data\" must be a JSON object"));
        }
        let (event, posted) = post::post(&call.visit.outlive, asked)?;
        Ok(PostReply {
            event,
            posted: posted == Posted::Now,
        })
    }
}
