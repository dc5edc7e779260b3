"""Those promises of a store that its vectors alone keep: what an index beside it has to keep, too."""

from recollect.conformance.records import (
    equal_scores_go_newest_first_then_by_id,
    forgetting_leaves_nothing_behind,
    nobody_sees_another_owners_records,
    what_the_tenant_shares_is_its_identity_records,
)
from recollect.conformance.vectors import (
    a_space_can_be_dropped,
    a_wrong_vector_is_refused,
    amended_text_is_searched_anew_and_loses_its_vectors,
    cosines_meet_an_inclusive_threshold,
    spaces_and_views_are_kept_apart,
    what_one_space_lacks_is_found_in_another,
)

PROMISES_OF_NEAREST = (
    cosines_meet_an_inclusive_threshold,
    spaces_and_views_are_kept_apart,
    a_wrong_vector_is_refused,
    amended_text_is_searched_anew_and_loses_its_vectors,
    forgetting_leaves_nothing_behind,
    nobody_sees_another_owners_records,
    what_the_tenant_shares_is_its_identity_records,
    equal_scores_go_newest_first_then_by_id,
    what_one_space_lacks_is_found_in_another,
    a_space_can_be_dropped,
)
