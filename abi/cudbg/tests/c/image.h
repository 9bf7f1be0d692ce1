// The symbols of a model's image.
#ifndef IMAGE_H
#define IMAGE_H

#include <elf.h>

#include "check.h"

struct image {
    uint64_t handle;
    uint64_t size;
    char*    bytes;
};

// Reads the image that an event names.
static inline struct image read_image(const CUDBGEvent* event)
{
    struct image image;
    image.handle = event->cases.elfImageLoaded.handle;
    image.size   = event->cases.elfImageLoaded.size;
    image.bytes  = (char*)malloc(image.size);
    ANSWERS(CUDBG_SUCCESS,
            api->getElfImageByHandle(0, image.handle, CUDBG_ELF_IMAGE_TYPE_RELOCATED, image.bytes, image.size));
    return image;
}

// Returns the address of a symbol; its type is STT_FUNC for operators, and STT_OBJECT for values.
static inline uint64_t symbol(const struct image* image, const char* name, unsigned char type)
{
    const Elf64_Ehdr* header   = (const Elf64_Ehdr*)image->bytes;
    const Elf64_Shdr* sections = (const Elf64_Shdr*)(image->bytes + header->e_shoff);
    for (unsigned at = 0; at < header->e_shnum; ++at) {
        if (sections[at].sh_type != SHT_SYMTAB) {
            continue;
        }
        const Elf64_Sym* symbols = (const Elf64_Sym*)(image->bytes + sections[at].sh_offset);
        const char*      names   = image->bytes + sections[sections[at].sh_link].sh_offset;
        for (uint64_t index = 0; index < sections[at].sh_size / sizeof *symbols; ++index) {
            if (strcmp(names + symbols[index].st_name, name) == 0 && ELF64_ST_TYPE(symbols[index].st_info) == type) {
                return symbols[index].st_value;
            }
        }
    }
    fprintf(stderr, "the image has no symbol %s\n", name);
    exit(1);
}

#endif
