/* Intrusive doubly linked lists: a head is a node that points to itself when empty. No allocation, O(1) unlink.
 */
#ifndef PW_BASE_LIST_H
#define PW_BASE_LIST_H

#include "base/memory.h"

struct pw_list { struct pw_list *next, *prev; };

static inline void pw_list_init(struct pw_list *node) { node->next = node->prev = node; }
static inline bool pw_list_empty(const struct pw_list *head) { return head->next == head; }
static inline void pw_list_append(struct pw_list *head, struct pw_list *node)
{
        node->prev = head->prev;
        node->next = head;
        head->prev->next = node;
        head->prev = node;
}
static inline void pw_list_prepend(struct pw_list *head, struct pw_list *node) { pw_list_append(head->next, node); }
/* Safe on a node that is in no list but was initialised; leaves it initialised. */
static inline void pw_list_remove(struct pw_list *node)
{
        node->prev->next = node->next;
        node->next->prev = node->prev;
        pw_list_init(node);
}
/* All of `from` go behind those of `head`. */
static inline void pw_list_splice(struct pw_list *head, struct pw_list *from)
{
        if (pw_list_empty(from))
                return;
        from->next->prev = head->prev;
        head->prev->next = from->next;
        from->prev->next = head;
        head->prev = from->prev;
        pw_list_init(from);
}
#define pw_list_item(node, type, member) pw_container_of((node), type, member)
#define pw_list_first(head, type, member) pw_list_item((head)->next, type, member)
/* The current item may be removed or freed in the body. */
#define pw_list_each(head, it, type, member)                                                                           \
        for (struct pw_list *pw_n_##it = (head)->next, *pw_m_##it = pw_n_##it->next;                                   \
             pw_n_##it != (head) && ((it) = pw_list_item(pw_n_##it, type, member), 1);                                 \
             pw_n_##it = pw_m_##it, pw_m_##it = pw_n_##it->next)

#endif
