//! Profiles: the characters of the user who asks. The protocol has nothing of this, so these routes are our own.
//!
//! | route | body | answer |
//! | --- | --- | --- |
//! | `GET /v2/profile` | | `{"active": id, "profiles": [profile, …]}`, the oldest first |
//! | `POST /v2/profile` | `{"name": text, "id": text, "data": object}`; a name is required | the new profile |
//! | `PUT /v2/profile/{id}` | `{"name": text, "data": object}`; what is absent stays | the changed profile |
//! | `DELETE /v2/profile/{id}` | | `{"active": id}`: the profile that is active now |
//! | `POST /v2/profile/{id}/select` | | the profile, which is active now |
//!
//! A profile is `{"id": text, "name": text, "data": object, "active": boolean, "create_time": time, "update_time": time}`,
//! with all fields always there. Refusals are those of all operations.

use super::access::Access;
use super::answer::{Refused, answer};
use super::routes::{read_body, read_json};
use super::{Desk, Routes};
use aether_messages::timestamp;
use aether_services::Refusal;
use aether_services::profile::{NewProfile, Profile, ProfileChange};
use axum::RequestExt as _;
use axum::extract::{RawPathParams, Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, MethodRouter, on};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub(super) fn routes(routes: Routes) -> Routes {
    let list_and_create = handler(MethodFilter::GET, Act::List).merge(handler(MethodFilter::POST, Act::Create));
    let update_and_delete = handler(MethodFilter::PUT, Act::Update).merge(handler(MethodFilter::DELETE, Act::Delete));
    routes
        .own("/v2/profile", list_and_create)
        .own("/v2/profile/{id}", update_and_delete)
        .own("/v2/profile/{id}/select", handler(MethodFilter::POST, Act::Select))
}

/// What is done.
#[derive(Clone, Copy)]
enum Act {
    List,
    Create,
    Update,
    Delete,
    Select,
}

/// The fields of all bodies.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Fields {
    id: Option<String>,
    name: Option<String>,
    data: Option<Map<String, Value>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Answer {
    List { active: String, profiles: Vec<Shown> },
    One(Shown),
    Active { active: String },
}

#[derive(Serialize)]
struct Shown {
    id: String,
    name: String,
    data: Map<String, Value>,
    active: bool,
    create_time: String,
    update_time: String,
}

fn handler(method: MethodFilter, act: Act) -> MethodRouter<Desk> {
    on(method, async move |State(desk): State<Desk>, request: Request| -> Response {
        match act.run(&desk, request).await {
            Ok(done) => answer(&done),
            Err(refusal) => Refused(refusal).into_response(),
        }
    })
}

impl Act {
    async fn run(self, desk: &Desk, mut request: Request) -> Result<Answer, Refusal> {
        let call = desk.receive(Access::User, &request)?;
        let user = call.identity()?.user;
        let path = request.extract_parts::<RawPathParams>().await.ok();
        let named = path.iter().flat_map(RawPathParams::iter).find(|(name, _)| *name == "id");
        let id = named.map_or("", |(_, id)| id);
        let fields: Fields = read_json(&read_body(request.into_body()).await?)?;
        let data = fields.data.map(|data| Value::Object(data).to_string());
        let profiles = &desk.services().profiles;
        Ok(match self {
            Act::List => list(profiles.list(user).await?),
            Act::Create => {
                let name = fields.name.ok_or_else(|| Refusal::invalid("A profile needs a name."))?;
                Answer::One(shown(profiles.create(user, NewProfile { id: fields.id, name, data }).await?))
            }
            Act::Update => {
                let change = ProfileChange { name: fields.name, data };
                Answer::One(shown(profiles.update(user, id, change).await?))
            }
            Act::Delete => Answer::Active { active: profiles.delete(user, id).await?.id },
            Act::Select => Answer::One(shown(profiles.select(user, id).await?)),
        })
    }
}

fn list(profiles: Vec<Profile>) -> Answer {
    let active = profiles.iter().find(|profile| profile.is_active).map(|profile| profile.id.clone());
    Answer::List { active: active.unwrap_or_default(), profiles: profiles.into_iter().map(shown).collect() }
}

fn shown(profile: Profile) -> Shown {
    Shown {
        id: profile.id,
        name: profile.name,
        // What was stored is an object, unless someone changed it past the server.
        data: serde_json::from_str(&profile.data).unwrap_or_default(),
        active: profile.is_active,
        create_time: timestamp(profile.created_at_ms).to_string(),
        update_time: timestamp(profile.updated_at_ms).to_string(),
    }
}
